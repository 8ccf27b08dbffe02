package openai

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"sluice/policy"
)

// families are those of testModels.
var families = policy.Families{
	SyncImage: []policy.Pattern{"llm-image*"}, EditImage: []policy.Pattern{"gen2.6-image"}, Vision: []policy.Pattern{"llm-vl*"},
}

// judged is what the gateway's rules say of a translated request.
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

// TestFindingsAreMappedBack: a rule names the service's field, and the client is told its own member.
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
