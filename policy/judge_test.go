package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy"
)

// all are patterns for every family, so that every rule applies.
var all = policy.Families{
	SyncImage: families.SyncImage, EditImage: families.EditImage,
	Thinking: []policy.Pattern{"llm-think*"}, Vision: []policy.Pattern{"llm-vl*", "llm-see*"},
	Reasoning: []policy.Pattern{"llm-reason*", "llm-see*"},
}

// The calls of the tests: the facts before a legal body on each path.
var calls = map[string]policy.Call{
	"text":        {Endpoint: policy.EndpointText},
	"text+sse":    {Endpoint: policy.EndpointText, SSE: []string{"enable"}},
	"chat":        {Endpoint: policy.EndpointMultimodal},
	"sync":        {Endpoint: policy.EndpointMultimodal},
	"task":        {Endpoint: policy.EndpointImage, Async: []string{"enable"}},
	"task+sse":    {Endpoint: policy.EndpointImage, Async: []string{"enable"}, SSE: []string{"enable"}},
	"task+accept": {Endpoint: policy.EndpointImage, Async: []string{"enable"}, Accept: "text/event-stream"},
	"stream":      {Endpoint: policy.EndpointMultimodal, SSE: []string{"enable"}},
	"older":       {Endpoint: policy.EndpointImage, Async: []string{"enable"}, Older: true},
	"resolve":     {Endpoint: policy.EndpointImage, Async: []string{"enable"}, Resolve: true},
}

// verdict reads and judges a body by the call's name and returns the ids of the broken rules: violations as they are,
// warnings with a question mark.
func verdict(t *testing.T, f *policy.Families, call, body string) []string {
	t.Helper()
	c, known := calls[call]
	if !known {
		t.Fatalf("no call %q", call)
	}
	return ids(judged(t, f, c, body))
}

// judged is the verdict on a strict body.
func judged(t testing.TB, f *policy.Families, c policy.Call, body string) policy.Verdict {
	t.Helper()
	q, err := policy.Read(f, c, []byte(body))
	if err != nil {
		t.Fatalf("%.300s: %v", body, err)
	}
	return policy.Judge(nil, nil, &q)
}

func ids(v policy.Verdict) []string {
	ids := []string{}
	for _, f := range v.Violations {
		ids = append(ids, f.Rule)
	}
	for _, f := range v.Warnings {
		ids = append(ids, f.Rule+"?")
	}
	return ids
}

// The bodies of the tests, all legal: a model, and parameters to vary.
func textBody(model, parameters string) string {
	return fmt.Sprintf(`{"model":%q,"input":{"messages":[{"role":"user","content":"hi"}]},"parameters":{%s}}`, model, parameters)
}

func messageBody(model, messages string) string {
	return fmt.Sprintf(`{"model":%q,"input":{"messages":[%s]}}`, model, messages)
}

func chatParameters(model, parameters string) string {
	return fmt.Sprintf(`{"model":%q,"input":{"messages":[{"role":"user","content":[{"text":"hi"}]}]},"parameters":{%s}}`, model, parameters)
}

// itemsBody is an image request whose one user message has these items.
func itemsBody(model, items, parameters string) string {
	return fmt.Sprintf(`{"model":%q,"input":{"messages":[{"role":"user","content":[%s]}]},"parameters":{%s}}`, model, items, parameters)
}

const oneImage = `{"text":"a cat"},{"image":"https://a.example/b.png"}`

const oneTool = `{"type":"function","function":{"name":"look_up","description":"looks","parameters":{"type":"object"}}}`

func editBody(parameters string) string { return itemsBody("gen2.6-image", oneImage, parameters) }

func interleaveBody(parameters string) string {
	return itemsBody("gen2.6-image", oneImage, `"enable_interleave":true,"stream":true`+parameters)
}

func syncBody(parameters string) string {
	return itemsBody("llm-image-2.0-pro", `{"text":"a cat"}`, parameters)
}

// TestModes lays the gateway's and a team's modes over the table's own.
func TestModes(t *testing.T) {
	body := []byte(editBody(`"n":9,"max_images":2`))
	q, err := policy.Read(&families, calls["task"], body)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		gateway, team policy.Modes
		want          string
	}{
		{nil, nil, "image.edit.n image.edit.max_images?"},
		{policy.Modes{"image.edit.n": policy.ModeWarn}, nil, "image.edit.n? image.edit.max_images?"},
		{policy.Modes{"image.edit.n": policy.ModeOff}, nil, "image.edit.max_images?"},
		{policy.Modes{"image.edit.n": policy.ModeOff}, policy.Modes{"image.edit.n": policy.ModeRefuse}, "image.edit.n image.edit.max_images?"},
		{nil, policy.Modes{"image.edit.max_images": policy.ModeRefuse}, "image.edit.n image.edit.max_images"},
		{policy.Modes{"image.edit.max_images": policy.ModeRefuse}, policy.Modes{"image.edit.max_images": policy.ModeOff}, "image.edit.n"},
	} {
		if got := strings.Join(ids(policy.Judge(tt.gateway, tt.team, &q)), " "); got != tt.want {
			t.Errorf("gateway %v, team %v: %s, want %s", tt.gateway, tt.team, got, tt.want)
		}
	}
	if q.N != 9 || q.Images != 9 {
		t.Errorf("a count that is let through must be held: n %d, images %d", q.N, q.Images)
	}
}

// TestFindings shows the message to a client who breaks a rule.
func TestFindings(t *testing.T) {
	for _, tt := range []struct{ call, body, text, warning string }{
		{"task", editBody(`"n":5`),
			"parameters.n: given 5, allowed an integer from 1 to 4 (image.edit.n)", "image.edit.n;given=5"},
		{"task", itemsBody("gen2.6-image", oneImage+`,{"image":"ftp://a/b"},{"image":5},{"image":"x"}`, ""),
			`input.messages[0].content[3].image: given a number, allowed a string (image.image)`,
			`image.image;given="a number"`},
		{"text", messageBody("llm-max", `{"role":"user","content":"a"},{"role":"SYSTEM","content":"b"},{"content":"c"}`),
			`input.messages[1].role: given "SYSTEM" and 1 more, allowed system, user, assistant or tool (text.role)`,
			`text.role;given="\"SYSTEM\""`},
		{"text", textBody("llm-max", `"tools":[{"type":"function","function":{"name":"é\n`+strings.Repeat("x", 99)+`"}}]`),
			`parameters.tools[0].function.name: given "\u00e9\n` + strings.Repeat("x", 61) + `"..., ` +
				`allowed 1 to 64 letters, digits, underscores and hyphens (text.tools.name)`,
			`text.tools.name;limit=64;given="\"\\u00e9\\n` + strings.Repeat("x", 61) + `\"..."`},
		{"task", itemsBody("gen2.6-image", `{"text":"`+strings.Repeat("猫", 2317)+`"},{"image":"http://a/b"}`, ""),
			"input.messages[0].content: given 2317, allowed at most 2000 characters (image.prompt.length)",
			"image.prompt.length;limit=2000;given=2317"},
	} {
		v := judged(t, &families, calls[tt.call], tt.body)
		found := slices.Concat(v.Violations, v.Warnings)
		if len(found) == 0 {
			t.Errorf("%s: nothing found", tt.text)
			continue
		}
		if got := found[0].String(); got != tt.text {
			t.Errorf("says %s\nwant %s", got, tt.text)
		}
		if got := found[0].Warning(); got != tt.warning {
			t.Errorf("warns %s\nwant  %s", got, tt.warning)
		}
	}
}

// TestManyOffendersOneFinding keeps a body of many offenders from making an answer of many lines.
func TestManyOffendersOneFinding(t *testing.T) {
	messages := strings.TrimSuffix(strings.Repeat(`{"content":"x"},`, 50_000), ",")
	v := judged(t, &families, calls["text"], messageBody("llm-max", messages))
	if len(v.Violations) != 1 || v.Violations[0].Count != 100 || v.Violations[0].Field != "input.messages[0].role" {
		t.Errorf("%+v", v)
	}
}

// TestModesOverride: a team's modes take precedence over the gateway's, and neither is changed.
func TestModesOverride(t *testing.T) {
	gateway := policy.Modes{"a": policy.ModeWarn, "b": policy.ModeWarn}
	team := policy.Modes{"b": policy.ModeOff, "c": policy.ModeRefuse}
	for _, tt := range []struct{ under, over, want policy.Modes }{
		{gateway, team, policy.Modes{"a": policy.ModeWarn, "b": policy.ModeOff, "c": policy.ModeRefuse}},
		{gateway, nil, gateway},
		{nil, team, team},
		{nil, nil, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.under.Override(tt.over)); diff != "" {
			t.Errorf("%v over %v: -want +got:\n%s", tt.over, tt.under, diff)
		}
	}
	if gateway.Of("b", policy.ModeOff) != policy.ModeWarn || team.Of("b", policy.ModeWarn) != policy.ModeOff {
		t.Error("Override changed its arguments")
	}
	if got := team.Of("a", policy.ModeRefuse); got != policy.ModeRefuse {
		t.Errorf("a rule that is not set is %s, want its own mode", got)
	}
}
