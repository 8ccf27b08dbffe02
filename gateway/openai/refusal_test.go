package openai

import "testing"

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		native string
		want   string
	}{
		{400, `{"code":"InvalidParameter","message":"\"a\"","request_id":"r"}`, `{"error":{"message":"\"a\"","type":"invalid_request_error","param":null,"code":"InvalidParameter"}}`},
		{401, `{"code":"InvalidApiKey","message":"m"}`, `{"error":{"message":"m","type":"authentication_error","param":null,"code":"InvalidApiKey"}}`},
		{403, `{"code":"AccessDenied","message":"m"}`, `{"error":{"message":"m","type":"permission_error","param":null,"code":"AccessDenied"}}`},
		{404, `{"code":"NotFound","message":"m"}`, `{"error":{"message":"m","type":"not_found_error","param":null,"code":"NotFound"}}`},
		{408, `{"code":"RequestTimeOut","message":"m"}`, `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"RequestTimeOut"}}`},
		{413, `{"code":"BadRequest.TooLarge","message":"m"}`, `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"BadRequest.TooLarge"}}`},
		{422, `{"code":"InvalidParameter","message":"m"}`, `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"InvalidParameter"}}`},
		{429, `{"code":"Throttling.RateQuota","message":"m"}`, `{"error":{"message":"m","type":"rate_limit_error","param":null,"code":"Throttling.RateQuota"}}`},
		{429, `{"code":"Throttling.AllocationQuota","message":"m"}`, `{"error":{"message":"m","type":"rate_limit_error","param":null,"code":"insufficient_quota"}}`},
		{503, `{"code":"ServiceUnavailable","message":"m"}`, `{"error":{"message":"m","type":"server_error","param":null,"code":"ServiceUnavailable"}}`},
		{502, `<html>`, `{"error":{"message":"The service answered with status 502.","type":"server_error","param":null,"code":null}}`},
		{500, `{"code":7,"message":""}`, `{"error":{"message":"The service answered with status 500.","type":"server_error","param":null,"code":null}}`},
	} {
		if got := string(AppendError(nil, ReadRefusal(c.status, []byte(c.native)))); got != c.want {
			t.Errorf("%d %s:\n%s, want\n%s", c.status, c.native, got, c.want)
		}
	}
}

func TestParams(t *testing.T) {
	for _, c := range []struct{ field, chat, image string }{
		{"model", "model", "model"},
		{"parameters.top_p", "top_p", "top_p"},
		{"parameters.tools[0].function.name", "tools[0].function.name", "tools[0].function.name"},
		{"parameters.incremental_output", "stream", "incremental_output"},
		{"parameters.stream", "stream", "stream"},
		{"input.messages", "messages", "prompt"},
		{"input.messages[2].role", "messages[2].role", "prompt"},
		{"input.messages[2].content[0].text", "messages[2].content[0].text", "prompt"},
		{"input.messages[2].content[1].image", "messages[2].content[1].image_url", "image"},
		{"input.messages[0].content", "messages[0].content", "image"},
		{"input.prompt", "", "prompt"},
		{"X-Service-SSE", "", ""},
		{"", "", ""},
	} {
		if chat, image := ChatParam(c.field), ImageParam(c.field); chat != c.chat || image != c.image {
			t.Errorf("%s: %q and %q, want %q and %q", c.field, chat, image, c.chat, c.image)
		}
	}
}
