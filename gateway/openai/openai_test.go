package openai

import (
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

func TestModels(t *testing.T) {
	got := string(AppendModels(nil, []string{"llm-max", `a"b`}, 1772600767, "sluice"))
	want := `{"object":"list","data":[{"id":"llm-max","object":"model","created":1772600767,"owned_by":"sluice"},{"id":"a\"b",` +
		`"object":"model","created":1772600767,"owned_by":"sluice"}]}`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := string(AppendModels(nil, nil, 0, "")); got != `{"object":"list","data":[]}` {
		t.Error(got)
	}
	if got := string(AppendError(nil, NoModel("x"))); got != `{"error":{"message":"The model \"x\" does not exist or you do not have `+
		`access to it.","type":"not_found_error","param":"model","code":"model_not_found"}}` {
		t.Error(got)
	}
}

// Without functions a translation has no aliases and knows no kinds.
func TestNoModels(t *testing.T) {
	if r, err := Generation([]byte(`{"model":"llm-image","prompt":"p"}`), &conversation.Models{}); err != nil || !r.Async {
		t.Errorf("%v, %v", r, err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		native string
		want   string
	}{
		{400, `{"code":"InvalidParameter","message":"\"a\"","request_id":"r"}`,
			`{"error":{"message":"\"a\"","type":"invalid_request_error","param":null,"code":"InvalidParameter"}}`},
		{401, `{"code":"InvalidApiKey","message":"m"}`, `{"error":{"message":"m","type":"authentication_error","param":null,` +
			`"code":"InvalidApiKey"}}`},
		{403, `{"code":"AccessDenied","message":"m"}`, `{"error":{"message":"m","type":"permission_error","param":null,"code":"AccessDenied"}}`},
		{404, `{"code":"NotFound","message":"m"}`, `{"error":{"message":"m","type":"not_found_error","param":null,"code":"NotFound"}}`},
		{408, `{"code":"RequestTimeOut","message":"m"}`, `{"error":{"message":"m","type":"invalid_request_error","param":null,` +
			`"code":"RequestTimeOut"}}`},
		{413, `{"code":"BadRequest.TooLarge","message":"m"}`, `{"error":{"message":"m","type":"invalid_request_error","param":null,` +
			`"code":"BadRequest.TooLarge"}}`},
		{422, `{"code":"InvalidParameter","message":"m"}`, `{"error":{"message":"m","type":"invalid_request_error","param":null,` +
			`"code":"InvalidParameter"}}`},
		{429, `{"code":"Throttling.RateQuota","message":"m"}`, `{"error":{"message":"m","type":"rate_limit_error","param":null,` +
			`"code":"Throttling.RateQuota"}}`},
		{429, `{"code":"Throttling.AllocationQuota","message":"m"}`,
			`{"error":{"message":"m","type":"rate_limit_error","param":null,"code":"insufficient_quota"}}`},
		{503, `{"code":"ServiceUnavailable","message":"m"}`, `{"error":{"message":"m","type":"server_error","param":null,` +
			`"code":"ServiceUnavailable"}}`},
		{502, `<html>`, `{"error":{"message":"The service answered with status 502.","type":"server_error","param":null,"code":null}}`},
		{500, `{"code":7,"message":""}`, `{"error":{"message":"The service answered with status 500.","type":"server_error","param":null,` +
			`"code":null}}`},
	} {
		if got := string(AppendError(nil, conversation.ReadRefusal(c.status, []byte(c.native)))); got != c.want {
			t.Errorf("%d %s:\n%s, want\n%s", c.status, c.native, got, c.want)
		}
	}
}

func TestParams(t *testing.T) {
	for _, c := range []struct{ field, image string }{
		{"model", "model"},
		{"parameters.top_p", "top_p"},
		{"parameters.tools[0].function.name", "tools[0].function.name"},
		{"parameters.incremental_output", "incremental_output"},
		{"parameters.stream", "stream"},
		{"input.messages", "prompt"},
		{"input.messages[2].role", "prompt"},
		{"input.messages[2].content[0].text", "prompt"},
		{"input.messages[2].content[1].image", "image"},
		{"input.messages[0].content", "image"},
		{"input.prompt", "prompt"},
		{"X-Service-SSE", ""},
		{"", ""},
	} {
		if image := ImageParam(c.field); image != c.image {
			t.Errorf("%s: %q, want %q", c.field, image, c.image)
		}
	}
}

func TestPassagesKeepTheRules(t *testing.T) { dialecttest.KeepRules(t, "images", Generation) }

// TestFindingsAreMappedBack: a rule names the service's field, and the client reads the name of its own member.
func TestFindingsAreMappedBack(t *testing.T) {
	r, err := Generation([]byte(`{"model":"gen2.6-image","prompt":"p","n":9}`), dialecttest.Models)
	if err != nil {
		t.Fatal(err)
	}
	params := map[string]bool{}
	for _, finding := range dialecttest.Judged(t, r).Violations {
		params[ImageParam(finding.Field)] = true
	}
	if !params["n"] || !params["image"] || len(params) != 2 { // the model edits pictures, and has none
		t.Errorf("%v, want n and image", params)
	}
}
