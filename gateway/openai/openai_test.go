package openai

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"sluice/policy"
)

func TestModels(t *testing.T) {
	got := string(AppendModels(nil, []string{"llm-max", `a"b`}, 1772600767, "sluice"))
	want := `{"object":"list","data":[{"id":"llm-max","object":"model","created":1772600767,"owned_by":"sluice"},{"id":"a\"b","object":"model","created":1772600767,"owned_by":"sluice"}]}`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := string(AppendModels(nil, nil, 0, "")); got != `{"object":"list","data":[]}` {
		t.Error(got)
	}
	if got := string(AppendError(nil, NoModel("x"))); got != `{"error":{"message":"The model \"x\" does not exist or you do not have access to it.","type":"not_found_error","param":"model","code":"model_not_found"}}` {
		t.Error(got)
	}
}

// Without functions a translation has no aliases and knows no kinds.
func TestNoModels(t *testing.T) {
	r, err := Chat([]byte(`{"model":"gpt-4o","messages":[]}`), &Models{})
	if err != nil || string(r.Body) != `{"model":"gpt-4o","input":{"messages":[]},"parameters":{"result_format":"message"}}` {
		t.Errorf("%s, %v", r.Body, err)
	}
	if r, err = Generation([]byte(`{"model":"llm-image","prompt":"p"}`), &Models{}); err != nil || !r.Async {
		t.Errorf("%v, %v", r, err)
	}
}

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

// families are those of testModels.
var families = policy.Families{
	SyncImage: []policy.Pattern{"llm-image*"}, EditImage: []policy.Pattern{"gen2.6-image"}, Vision: []policy.Pattern{"llm-vl*"},
}

// judged is the verdict of the gateway's rules on a translated request.
func judged(t *testing.T, r *Request) policy.Verdict {
	t.Helper()
	call := policy.Call{Endpoint: map[string]policy.Endpoint{
		TextPath: policy.EndpointText, MultimodalPath: policy.EndpointMultimodal, ImagePath: policy.EndpointImage,
	}[r.Path]}
	if r.Async {
		call.Async = []string{"enable"}
	}
	if r.Stream {
		call.SSE = []string{"enable"}
	}
	request, err := policy.Read(&families, call, r.Body)
	if err != nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
	defer request.Release()
	return policy.Judge(nil, nil, &request)
}

// TestPassagesKeepTheRules: what a translation adds or changes breaks no rule of the gateway, and what it makes is one strict
// document.
func TestPassagesKeepTheRules(t *testing.T) {
	for directory, translate := range map[string]func([]byte, *Models) (*Request, error){"chats": Chat, "images": Generation} {
		files, _ := filepath.Glob(filepath.Join("testdata", directory, "*.txt"))
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".txt")
			t.Run(directory+"/"+name, func(t *testing.T) {
				archive, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				r, err := translate(archive.Files[0].Data, testModels)
				if err != nil {
					t.Fatal(err)
				}
				verdict := judged(t, r)
				for _, finding := range append(verdict.Violations, verdict.Warnings...) {
					t.Errorf("%s", finding)
				}
			})
		}
	}
}

// TestFindingsAreMappedBack: a rule names the service's field, and the client reads the name of its own member.
func TestFindingsAreMappedBack(t *testing.T) {
	for member, param := range map[string]string{
		`"top_p":5`: "top_p", `"n":9`: "n", `"tools":[{"type":"custom"}]`: "tools[0].type", `"response_format":{"type":"xml"}`: "response_format.type",
		`"stop":[1,"a"]`: "stop[0]", `"max_completion_tokens":0`: "max_completion_tokens", `"seed":-1`: "seed",
	} {
		r, err := Chat([]byte(`{"model":"llm-max","messages":[{"role":"user","content":"Hi"}],`+member+`}`), testModels)
		if err != nil {
			t.Fatal(err)
		}
		params := map[string]bool{}
		verdict := judged(t, r)
		for _, finding := range verdict.Violations {
			params[ChatParam(finding.Field)] = true
		}
		if !params[param] {
			t.Errorf("%s: %v, want %s of %v", member, params, param, verdict.Violations)
		}
	}
	r, err := Generation([]byte(`{"model":"gen2.6-image","prompt":"p","n":9}`), testModels)
	if err != nil {
		t.Fatal(err)
	}
	params := map[string]bool{}
	for _, finding := range judged(t, r).Violations {
		params[ImageParam(finding.Field)] = true
	}
	if !params["n"] || !params["image"] || len(params) != 2 { // the model edits pictures, and has none
		t.Errorf("%v, want n and image", params)
	}
}
