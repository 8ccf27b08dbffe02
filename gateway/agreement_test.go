package gateway_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/gateway/simulator"
	"sluice/policy"
)

// The simulator was written from interface.md alone and shares no code with package policy. Both judge the same
// requests; where they differ, the difference is in the table of differences with its reason, or it is a fault of one
// of them.
func TestAgreement(t *testing.T) {
	c := newCourt()
	for _, s := range docket(t) {
		if said := c.try(s); said != "" {
			t.Error(said)
		}
		if c.failed == 20 {
			t.Fatal("and so on")
		}
	}
	for i := range differences {
		if c.seen[i] == 0 {
			t.Errorf("no request shows the difference %q: it is stale", differences[i].why)
		}
	}
	t.Logf("%d requests: %d legal to both, %d to neither, %d differences explained", c.tried, c.passed, c.refused, c.tried-c.passed-c.refused)
	if c.tried < 5000 || c.passed < 500 || c.refused < 500 {
		t.Error("too few to mean anything")
	}
}

// Requests with several changes at once, which nobody thought of.
func TestAgreementAtRandom(t *testing.T) {
	all := changes(t)
	c := newCourt()
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			s := rapid.SampledFrom(bases).Draw(t, "base")
			for range rapid.IntRange(1, 4).Draw(t, "changes") {
				one := rapid.SampledFrom(all).Draw(t, "change")
				s = s.set(one[0], one[1])
			}
			if said := c.try(s); said != "" {
				t.Fatal(said)
			}
		}
	})
}

// court lets both judge.
type court struct {
	sim                            *simulator.Simulator
	families                       policy.Families
	tried, passed, refused, failed int
	seen                           []int // how often each difference occurred
}

func newCourt() *court {
	return &court{
		sim:      simulator.New(simulator.Config{TaskRate: -1, KeepRequests: -1, KeepBody: -1, MaxOutput: 1, FrameTokens: 1 << 20}),
		families: settings().Families, seen: make([]int, len(differences)),
	}
}

// try returns what is wrong where the two disagree without a reason.
func (c *court) try(s sent) string {
	c.tried++
	violations, complaint := s.byPolicy(&c.families), s.bySimulator(c.sim)
	switch {
	case len(violations) == 0 && complaint == "":
		c.passed++
		return ""
	case len(violations) > 0 && complaint != "":
		c.refused++
		return ""
	case complaint != "":
		violations = []policy.Finding{{}}
	}
	for _, v := range violations { // each alone would refuse what the simulator takes
		if !c.explain(s, v, complaint) {
			c.failed++
			return fmt.Sprintf("%s %v\n%s\npolicy: %v\nsimulator: %s", s.path, s.header, s.body(), v, complaint)
		}
	}
	return ""
}

func (c *court) explain(s sent, v policy.Finding, complaint string) (explained bool) {
	for i, d := range differences {
		if d.matches(s, v, complaint) {
			c.seen[i]++
			explained = true
		}
	}
	return explained
}

// byPolicy are the violations; a body that is no strict JSON is one too.
func (s sent) byPolicy(families *policy.Families) []policy.Finding {
	call := policy.Call{Async: s.header["X-Service-Async"], SSE: s.header["X-Service-Sse"], Accept: s.header.Get("Accept")}
	call.Older = s.path == olderPath
	switch s.path {
	case textPath:
		call.Endpoint = policy.EndpointText
	case multimodalPath:
		call.Endpoint = policy.EndpointMultimodal
	default:
		call.Endpoint = policy.EndpointImage
	}
	request, err := policy.Read(families, call, []byte(s.body()))
	if err != nil {
		return []policy.Finding{{Rule: "body", Given: err.Error()}}
	}
	return policy.Judge(nil, nil, &request).Violations
}

// bySimulator is the answer of the simulator where it refuses: by its status, or in a frame of a stream.
func (s sent) bySimulator(sim *simulator.Simulator) string {
	r := httptest.NewRequest(http.MethodPost, s.path, strings.NewReader(s.body()))
	for name, values := range s.header {
		r.Header[name] = values
	}
	r.Header.Set("Authorization", "Bearer any")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, r)
	answer := w.Body.String()
	if w.Code >= 400 || strings.Contains(answer, "event:error\n:HTTP_STATUS/4") {
		return strconv.Itoa(w.Code) + " " + answer
	}
	return ""
}

// sent is a request. Its parts are JSON as it is written; an empty one is absent.
type sent struct {
	path       string
	model      string
	input      string
	parameters [][2]string
	instead    string // of the object of parameters
	more       string // members behind
	after      string // the document
	header     http.Header
}

// set returns the request with one thing changed: a part, a header or a parameter.
func (s sent) set(name, value string) sent {
	switch {
	case name == "path":
		s.path = value
	case name == "model":
		s.model = value
	case name == "input":
		s.input = value
	case name == "parameters":
		s.instead = value
	case name == "more":
		s.more = value
	case name == "after":
		s.after = value
	case name == "Accept", strings.HasPrefix(name, "X-"):
		if s.header = s.header.Clone(); s.header == nil {
			s.header = http.Header{}
		}
		s.header.Del(name)
		for v := range strings.FieldsFuncSeq(value, func(c rune) bool { return c == '|' }) {
			s.header.Add(name, v)
		}
	default:
		s.parameters = slices.DeleteFunc(slices.Clone(s.parameters), func(p [2]string) bool { return p[0] == name })
		if value != "" {
			s.parameters = append(s.parameters, [2]string{name, value})
		}
	}
	return s
}

// param is a parameter as it is written, empty where there is none.
func (s sent) param(name string) string {
	for _, p := range s.parameters {
		if p[0] == name && s.instead == "" {
			return p[1]
		}
	}
	return ""
}

func (s sent) body() string {
	var parts, parameters []string
	for _, p := range s.parameters {
		parameters = append(parameters, `"`+p[0]+`":`+p[1])
	}
	written := "{" + strings.Join(parameters, ",") + "}"
	if s.instead != "" {
		written = s.instead
	}
	for _, p := range [][2]string{{"model", s.model}, {"input", s.input}, {"parameters", written}} {
		if p[1] != "" {
			parts = append(parts, `"`+p[0]+`":`+p[1])
		}
	}
	return "{" + strings.Join(parts, ",") + s.more + "}" + s.after
}

// difference is a way in which the two differ, and why that is so.
type difference struct {
	why  string
	rule string // a word of the rule by which policy alone refuses; empty where the simulator alone does
	says string // what the simulator alone refuses with
	when func(s sent, v policy.Finding) bool
}

func (d difference) matches(s sent, v policy.Finding, complaint string) bool {
	if (d.rule == "") != (v.Rule == "") || !strings.Contains(complaint, d.says) {
		return false
	}
	family, whole := strings.CutSuffix(d.rule, "*")
	if d.rule != "" && !slices.Contains(strings.Fields(d.rule), v.Rule) && !(whole && strings.HasPrefix(v.Rule, family)) {
		return false
	}
	return d.when == nil || d.when(s, v)
}

func has(text string) func(sent, policy.Finding) bool {
	return func(s sent, _ policy.Finding) bool { return strings.Contains(s.body(), text) }
}

func on(paths ...string) func(sent, policy.Finding) bool {
	return func(s sent, _ policy.Finding) bool { return slices.Contains(paths, s.path) }
}

// is reports whether the request's model is of a family, by the beginning of its name.
func (s sent) is(family string) bool { return strings.HasPrefix(s.model, `"`+family) }

// formOnly reports whether the request is for an image by a model of which interface.md says nothing but the form.
func (s sent) formOnly() bool {
	return s.path == imagePath && !s.is("gen2.6-image") || s.path == olderPath
}

// plainEdit reports whether a model that edits is asked on the multimodal path for something not interleaved.
func (s sent) plainEdit() bool {
	return s.path == multimodalPath && s.is("gen2.6-image") && s.param("enable_interleave") != "true"
}

const (
	chatInput = `{"messages":[{"role":"user","content":"Tell me of rivers in json."}]}`
	listInput = `{"messages":[{"role":"user","content":[{"text":"Tell me of rivers in json."}]}]}`
	editInput = `{"messages":[{"role":"user","content":[{"text":"A lighthouse"},{"image":"https://example.com/a.png"}]}]}`
	forced    = `{"type":"function","function":{"name":"f"}}`
	oneTool   = `[{"type":"function","function":{"name":"f"}}]`
)

// bases are requests that are legal to both, one of each sort.
var bases = []sent{
	{path: textPath, model: `"llm-max"`, input: chatInput, parameters: [][2]string{{"result_format", `"message"`}}},
	{path: textPath, model: `"llm-max"`, input: chatInput, header: http.Header{"X-Service-Sse": {"enable"}}},
	{path: multimodalPath, model: `"llm-vl"`, input: listInput},
	{path: multimodalPath, model: `"llm-image-2.0"`, input: listInput},
	{path: multimodalPath, model: `"gen2.6-image"`, input: editInput, header: http.Header{"X-Service-Sse": {"enable"}},
		parameters: [][2]string{{"enable_interleave", "true"}, {"stream", "true"}}},
	{path: multimodalPath, model: `"gen2.6-image"`, input: editInput},
	{path: imagePath, model: `"gen2.6-image"`, input: editInput, header: http.Header{"X-Service-Async": {"enable"}}},
	{path: imagePath, model: `"gen2.6-image"`, input: editInput,
		header:     http.Header{"X-Service-Async": {"enable"}, "X-Service-Sse": {"enable"}},
		parameters: [][2]string{{"enable_interleave", "true"}, {"stream", "true"}}},
	{path: imagePath, model: `"gen2.5-t2i"`, input: listInput, header: http.Header{"X-Service-Async": {"enable"}}},
	{path: olderPath, model: `"gen2.5-t2i"`, input: `{"prompt":"A lighthouse"}`, header: http.Header{"X-Service-Async": {"enable"}}},
}

// change is a part, header or parameter, and what it is made to be.
type change [2]string

// values are what parameters and parts are made to be: both sides of every bound, and every type.
var values = map[string][]string{
	"n":                         {"", "0", "1", "2", "4", "5", "100", "101", "-1", "-0", "1.0", "1e0", "1.5", `"1"`, "null", "true", "99999999999999999999"},
	"max_images":                {"0", "1", "5", "6", "2.0", `"3"`, "null"},
	"seed":                      {"0", "2147483647", "2147483648", "-1", "1.0", "0.5", `"7"`, "null"},
	"temperature":               {"0", "0.0", "1", "1.999", "2", "2.0", "-0.01", "1e400", `"1"`, "null", "[]"},
	"top_p":                     {"0", "0.0001", "1", "1.0", "1.0001", "-1", `"1"`, "null"},
	"top_k":                     {"0", "1", "100", "101", "-1", "20.0", "1.5", "null", `"5"`},
	"presence_penalty":          {"-2", "2", "-2.01", "2.01", "0", "null", "true"},
	"repetition_penalty":        {"0", "0.01", "1e308", "-1", "null", `"1"`},
	"max_tokens":                {"0", "1", "-1", "5.0", "null", `"9"`},
	"max_completion_tokens":     {"0", "1", "null", "false"},
	"thinking_budget":           {"-1", "0", "10", "null", "1e1"},
	"max_pixels":                {"0", "1", "16777217", "null", "1.0"},
	"logprobs":                  {"true", "false", "1", "null"},
	"top_logprobs":              {"-1", "0", "5", "6", "3.0", "null"},
	"stream":                    {"", "true", "false", "null", `"true"`, "1"},
	"incremental_output":        {"true", "false", "null", "1"},
	"enable_thinking":           {"true", "false", "null", `"yes"`},
	"enable_interleave":         {"", "true", "false", "null", `"true"`},
	"enable_code_interpreter":   {"true", "null", "0"},
	"parallel_tool_calls":       {"true", "null", `"no"`},
	"vl_high_resolution_images": {"true", "null", "2"},
	"vl_enable_image_hw_output": {"true", "null", "[]"},
	"watermark":                 {"true", "null", "1"},
	"prompt_extend":             {"true", "false", "null", `"on"`},
	"negative_prompt":           {`""`, `"grey"`, "null", "5", "[]", `"` + strings.Repeat("雨", 500) + `"`, `"` + strings.Repeat("雨", 501) + `"`},
	"result_format":             {"", `"text"`, `"message"`, `"json"`, "null", "1"},
	"size": {
		`""`, `"1K"`, `"2K"`, `"1k"`, `"3K"`, "null", "1024", `"1024x1024"`, `"1024*"`, `"*1024"`, `" 1024*1024"`, `"01024*1024"`,
		`"768*768"`, `"767*768"`, `"1280*1280"`, `"1280*1281"`, `"2048*2048"`, `"2048*2049"`, `"384*1536"`, `"383*1540"`, `"1536*384"`,
		`"2400*600"`, `"2401*600"`, `"1000*1000"`, `"640*480"`, `"99999*99999"`, `"100000*1"`, `"0*0"`, `"-1024*1024"`, `"1024*1024*1024"`,
	},
	"stop": {
		`"end"`, `["a","b"]`, "[1,2]", "[[1],[2,3]]", "[]", "[[]]", "null", "1", "{}", `["a",1]`, "[1,[2]]", "[1.0]", "[1.5]", "[-1]", "[[-1]]", "[-0]",
		"[null]", "[true]", `[["a"]]`, "[[1.0]]",
	},
	"tools": {
		"", "[]", "null", oneTool, "{}", `"f"`, "[5]", "[{}]", `[{"type":"x","function":{"name":"f"}}]`, `[{"type":"function"}]`,
		`[{"type":"function","function":{"name":"a b"}}]`, `[{"type":"function","function":{"name":""}}]`,
		`[{"type":"function","function":{"name":"` + strings.Repeat("n", 64) + `"}}]`,
		`[{"type":"function","function":{"name":"` + strings.Repeat("n", 65) + `"}}]`,
		`[{"type":"function","function":{"name":"f","parameters":[]}}]`, `[{"type":"function","function":{"name":"f","parameters":null}}]`,
		`[{"type":"function","function":{"name":"f","description":5}}]`, `[{"type":"function","function":{"name":"f","description":null}}]`,
	},
	"tool_choice": {
		"", `"auto"`, `"none"`, `"required"`, "null", "5", "{}", forced, `{"type":"function","function":{"name":""}}`,
		`{"type":"function","function":{}}`, `{"type":"x","function":{"name":"f"}}`,
	},
	"response_format": {
		`{"type":"text"}`, `{"type":"json_object"}`, `{"type":"json_schema"}`, `{"type":"json_schema","json_schema":{"schema":{}}}`,
		`{"type":"json_schema","json_schema":{"schema":[]}}`, `{"type":"xml"}`, "{}", `{"type":null}`, `"text"`, "null",
	},
	"model":           {"", "null", "5", `""`, `"llm-max"`, `"` + strings.Repeat("m", 256) + `"`, `"` + strings.Repeat("m", 257) + `"`},
	"parameters":      {"null", "[]", `"x"`},
	"more":            {`,"stranger":{"n":99}`, `,"model":"llm-max"`, `,"Model":"x"`, `,"x":"\ud800"`, `,"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70)},
	"after":           {" \n", "{}", "]"},
	"Accept":          {"", "text/event-stream", "application/json", "text/event-stream;q=0.9, */*"},
	"X-Service-Async": {"", "enable", "ENABLE", "disable", "maybe", "enable|enable", "enable|disable", "disable|enable"},
	"X-Service-Sse":   {"", "enable", "Enable", "disable", "maybe", "enable|disable"},
}

// contents are what a message's content is made to be, without pictures in the body.
var contents = []string{
	"", "null", "5", `""`, `"a"`, "[]", `["a"]`, "[null]", "[{}]", `[{"text":""}]`, `[{"text":"a"}]`, `[{"text":5}]`, `[{"text":null}]`,
	`[{"text":"a"},{"text":"b"}]`, `[{"text":"a"},{"file":"b"}]`, `[{"text":"a","image":"https://a/b"}]`, `[{"text":"a"},{"image":5}]`,
	`[{"text":"a"},{"image":null}]`, `[{"text":"a"},{"image":""}]`, `[{"image":"https://a/b"}]`, `[{"text":"a"},{"image":"HTTP://a/b"}]`,
	`[{"text":"a"},{"image":"ftp://a/b"}]`, `[{"text":"a"},{"image":"oss://a/b"}]`, `[{"text":"a"},{"image":"http://u:p@a/b"}]`,
	`[{"text":"a"},{"image":"https://ü/b"}]`, `[{"text":"a"},{"image":"a.png"}]`, `[{"text":"a"},{"image":"data:image/png;base64,"}]`,
	`[{"text":"a"},{"image":"data:image/png;base64,QUI"}]`, `[{"text":"a"},{"image":"data:image/png,QUJD"}]`,
	`[{"text":"a"},{"image":"data:image/gif;base64,QUJD"}]`, `[{"text":"a"},{"image":"DATA:image/png;base64,QUJD"}]`,
	`[{"text":"a"},{"image":"data:image/png;q=1;base64,QUJD"}]`, `[{"text":"a"},{"video":"https://a/b"}]`, `[{"text":"a"},{"video":["https://a/b"]}]`,
	`[{"text":"a"},{"video":[]}]`, `[{"text":"a"},{"video":5}]`, `[{"text":"a"},{"video":"ftp://a/b"}]`, `[{"text":"a"},{"audio":"https://a/b"}]`,
	`[{"text":"a"},{"audio":["https://a/b"]}]`, `[{"text":"a"},{"audio":{}}]`, `[{"text":"a"},{"audio":"nowhere"}]`,
	`[{"text":"` + strings.Repeat("字", 2000) + `"}]`, `[{"text":"` + strings.Repeat("字", 2001) + `"}]`,
}

// inputs are whole inputs, beside those with one message.
var inputs = []string{
	"", "null", "[]", "{}", `{"messages":null}`, `{"messages":[]}`, `{"messages":{}}`, `{"messages":[5]}`, `{"prompt":""}`, `{"prompt":"a"}`, `{"prompt":5}`,
	`{"prompt":"a","messages":null}`, `{"prompt":"a","messages":[]}`, `{"prompt":5,"messages":[{"role":"user","content":[{"text":"a"}]}]}`,
	`{"prompt":"a","history":[{"user":"a","bot":"b"}]}`, `{"prompt":"a","history":{}}`, `{"prompt":"a","history":[{"user":5}]}`,
	`{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}]}`, `{"messages":[{"content":"a"}]}`,
	`{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"user","content":[{"text":"b"}]}]}`,
	`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`,
}

func pictures(t *testing.T) (list []string) {
	opaque, clear := image.NewGray(image.Rect(0, 0, 240, 240)), image.NewNRGBA(image.Rect(0, 0, 240, 240))
	clear.Set(0, 0, color.NRGBA{A: 9})
	for _, p := range []image.Image{
		opaque, clear, image.NewGray(image.Rect(0, 0, 239, 240)), image.NewGray(image.Rect(0, 0, 8000, 240)), image.NewGray(image.Rect(0, 0, 8001, 240)),
	} {
		var b bytes.Buffer
		if err := png.Encode(&b, p); err != nil {
			t.Fatal(err)
		}
		data := base64.StdEncoding.EncodeToString(b.Bytes())
		list = append(list, "data:image/png;base64,"+data, "data:image/jpeg;base64,"+data)
	}
	return list
}

// changes are all single changes, in the same order each time.
func changes(t *testing.T) (all []change) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[name] {
			all = append(all, change{name, v})
		}
	}
	for _, in := range inputs {
		all = append(all, change{"input", in})
	}
	for _, role := range []string{"user", "system", "assistant", "tool", "User"} {
		for _, c := range contents {
			if c != "" {
				c = `,"content":` + c
			}
			all = append(all, change{"input", `{"messages":[{"role":"` + role + `"` + c + `}]}`})
		}
	}
	for n := range 7 {
		all = append(all, change{"input", withImages(slices.Repeat([]string{"https://a/b"}, n))})
	}
	for _, p := range pictures(t) {
		all = append(all, change{"input", withImages([]string{p})})
	}
	return all
}

func withImages(addresses []string) string {
	content := `{"text":"a"}`
	for _, a := range addresses {
		content += `,{"image":"` + a + `"}`
	}
	return `{"messages":[{"role":"user","content":[` + content + `]}]}`
}

// docket is every base with every single change, and the products of what is judged together.
func docket(t *testing.T) (list []sent) {
	all := changes(t)
	for _, b := range bases {
		list = append(list, b)
		for _, c := range all {
			list = append(list, b.set(c[0], c[1]))
		}
		list = append(list, product(b, "X-Service-Async", "X-Service-Sse", "stream", "enable_interleave")...)
	}
	for _, b := range bases[:3] {
		list = append(list, product(b.set("n", "2"), "tools", "tool_choice", "enable_thinking")...)
		list = append(list, product(b, "result_format", "tools")...)
		list = append(list, product(b.set("tools", oneTool), "enable_thinking", "result_format", "n")...)
	}
	for _, b := range bases[3:] {
		list = append(list, product(b, "size", "enable_interleave")...)
		list = append(list, product(b, "n", "max_images", "enable_interleave")...)
	}
	return append(list, bases[2].set("input", chatInput).set("response_format", `{"type":"json_object"}`),
		bases[0].set("input", strings.Replace(chatInput, "json", "gold", 1)).set("response_format", `{"type":"json_object"}`))
}

// product is the request with every combination of the values that these have.
func product(s sent, names ...string) []sent {
	if len(names) == 0 {
		return []sent{s}
	}
	var list []sent
	for _, v := range values[names[0]] {
		list = append(list, product(s.set(names[0], v), names[1:]...)...)
	}
	return list
}

// differences are all ways in which the two are known to differ: first where policy alone refuses, then the simulator.
var differences = []difference{
	{why: "policy takes integers only as they are written everywhere: what upstream makes of 1.0, 1e0 and -0 is not known; the simulator goes by value",
		rule: "text.n text.seed text.top_k text.top_logprobs text.max_tokens text.thinking_budget text.max_pixels image.n image.edit.n image.interleave.n image.interleave.max_images image.seed",
		when: func(_ sent, v policy.Finding) bool { return v.Given == "-0" || strings.ContainsAny(v.Given, ".eE") }},
	{why: "the same of token ids", rule: "text.stop.kind",
		when: func(s sent, _ policy.Finding) bool {
			return slices.Contains([]string{"[1.0]", "[-0]", "[[1.0]]"}, s.param("stop"))
		}},
	{why: "what parsers read differently, policy reads not at all; the simulator's parser takes the last of two, other cases and half a surrogate pair",
		rule: "body", when: func(s sent, _ policy.Finding) bool { return s.more != "" }},
	{why: "a model's name is bounded by policy alone", rule: "text.model image.model",
		when: func(s sent, _ policy.Finding) bool { return len(s.model) == 257+2 }},
	{why: "a header that is neither enable nor disable, or both, is absent to the simulator, or its first line counts", rule: "header.async header.sse",
		when: func(s sent, v policy.Finding) bool {
			lines := s.header["X-Service-Async"]
			if v.Rule == "header.sse" {
				lines = s.header["X-Service-Sse"]
			}
			return slices.Contains(lines, "maybe") || len(lines) > 1 && lines[0] != lines[1]
		}},
	{why: "the prompt of the older form is judged beside messages too; the simulator then does not look at it", rule: "text.prompt image.prompt", when: has(`"prompt":5,"messages"`)},
	{why: "messages beside a prompt are judged on the older paths too; the simulator looks at the prompt alone", rule: "image.messages",
		when: func(s sent, _ policy.Finding) bool {
			return s.path == olderPath && strings.Contains(s.input, `"prompt":"a"`)
		}},
	{why: "the simulator holds tools to result_format on the text path only", rule: "text.result_format.tools", when: on(multimodalPath)},
	{why: "oss addresses without the resolve header, user information and hosts beyond ASCII are refused by policy; the simulator does not fetch either",
		rule: "text.image.address image.image.address",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, "oss://") || strings.Contains(s.input, "u:p@") || strings.Contains(s.input, "ü")
		}},
	{why: "the simulator does not look at images that it makes no edit of", rule: "image.image.address image.image.data image.image",
		when: func(s sent, _ policy.Finding) bool { return s.formOnly() || s.is("llm-image") }},
	{why: "policy takes data URIs without parameters and with data", rule: "text.image.data image.image.data",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, ";q=1;") || strings.Contains(s.input, `base64,"`)
		}},
	{why: "addresses of video and audio are judged by policy alone", rule: "text.media.address",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, "ftp://") || strings.Contains(s.input, "nowhere")
		}},
	{why: "an empty size is no size; to the simulator it is absent", rule: "image.sync.size image.edit.size image.interleave.size",
		when: func(s sent, _ policy.Finding) bool { return s.param("size") == `""` }},
	{why: "interleaved mode requires stream true; on the multimodal path the simulator is content with the header", rule: "image.interleave.stream",
		when: func(s sent, _ policy.Finding) bool { return s.path == multimodalPath && s.param("stream") != "true" }},
	{why: "interface.md bounds n for other image models by its meaning alone; the simulator does not judge their tasks' parameters", rule: "image.n",
		when: func(s sent, _ policy.Finding) bool { return s.path == imagePath && s.formOnly() }},
	{why: "interface.md does not say what a model that edits does on the multimodal path when nothing is interleaved: policy holds it to editing, the simulator chats or interleaves",
		rule: "image.*", when: func(s sent, _ policy.Finding) bool { return s.plainEdit() }},

	{why: "the same the other way round: chatting or interleaving, the simulator refuses what editing allows", when: func(s sent, _ policy.Finding) bool { return s.plainEdit() }},
	{why: "a number beyond a double does not parse for the simulator; policy does not look at those that mean nothing where they stand", says: "Required body invalid", when: has("1e400")},
	{why: "an empty prompt is a prompt: interface.md has no lower bound", says: "input must hold messages or prompt", when: has(`"prompt":""`)},
	{why: "the same on the older paths", says: "input.prompt is required", when: has(`"prompt":""`)},
	{why: "the same of an image's text", says: "input.messages[0].content must hold", when: has(`"text":""`)},
	{why: "the older paths also take messages by policy: only the form of their input is specified", says: "input.prompt is required",
		when: func(s sent, _ policy.Finding) bool {
			return s.path == olderPath && strings.Contains(s.input, "messages")
		}},
	{why: "history is not in interface.md; the simulator knows its form", says: "input.history", when: has(`"history"`)},
	{why: "what a prompt instructs is for the model to say; the simulator wants the word json", says: "must contain the word json", when: has("json_object")},
	{why: "tools without result_format pass: the model's default is not known; the simulator's is text", says: "result_format must be message when tools is used",
		when: func(s sent, _ policy.Finding) bool {
			return s.param("result_format") == "" || s.param("result_format") == "null"
		}},
	{why: "a response format without a type passes: only a type that is given is judged", says: "response_format type must be one of",
		when: func(s sent, _ policy.Finding) bool {
			return slices.Contains([]string{"{}", `{"type":null}`}, s.param("response_format"))
		}},
	{why: "an empty name of a forced tool is a name", says: "tool_choice must be", when: has(`"tool_choice":{"type":"function","function":{"name":""}}`)},
	{why: "token ids below 0 pass: interface.md has no bound", says: "parameters.stop must be",
		when: func(s sent, _ policy.Finding) bool {
			return slices.Contains([]string{"[-1]", "[[-1]]"}, s.param("stop"))
		}},
	{why: "an empty array of content is warned of or passes", says: "content must not be empty", when: has(`"content":[]`)},
	{why: "an assistant may say nothing, with tool calls or not", says: "content must be a string or an array", when: has(`"role":"assistant"`)},
	{why: "a content item that holds nothing known is warned of", says: "must hold text, image, video or audio",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, "{}") || strings.Contains(s.input, `"file"`) || strings.Contains(s.input, `"image":null`) || strings.Contains(s.input, `"text":null`)
		}},
	{why: "video and audio are judged by their addresses alone; the simulator wants strings, and frames in a list", says: "must be a string",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, `"video":[]`) || strings.Contains(s.input, `"video":5`) || strings.Contains(s.input, `"audio":[`) || strings.Contains(s.input, `"audio":{`)
		}},
	{why: "a text model's array of content is warned of, whatever it holds", says: "of a text model holds text only", when: on(textPath)},
	{why: "a data URI without its = is warned of", says: "is not a Base64 data URI", when: has(";base64,QUI\"")},
	{why: "data: is a scheme, so its case does not count", says: "must be a public HTTP or HTTPS URL or a Base64 data URI", when: has("DATA:")},
	{why: "images are looked into only where they make a task; the simulator does so in every interleaved request", says: "input image 0",
		when: func(s sent, _ policy.Finding) bool {
			return s.path == multimodalPath && s.is("gen2.6-image") && strings.Contains(s.input, "data:")
		}},
	{why: "an item may hold a text and an image: policy counts both", says: "must be a text or an image item", when: has(`"text":"a","image"`)},
	{why: "unknown items are warned of outside editing", says: "must be a text or an image item",
		when: func(s sent, _ policy.Finding) bool { return s.is("llm-image") || s.formOnly() }},
	{why: "tasks of models that interface.md does not describe are judged by form: the simulator wants one message of the user", says: "input.messages",
		when: func(s sent, _ policy.Finding) bool { return s.path == imagePath && s.formOnly() }},
	{why: "parameters of the older paths are not in interface.md; the simulator bounds them as the newer ones", says: "parameters.", when: on(olderPath)},
	{why: "n of synchronous images has no upper bound in interface.md; the simulator draws a line at 100", says: "parameters.n must be in [1, 100]",
		when: func(s sent, _ policy.Finding) bool { return s.is("llm-image") && len(s.param("n")) >= 3 }},
	{why: "parameters that endpoint 2 does not show pass; the simulator judges them as in endpoint 3", says: "parameters.",
		when: func(s sent, _ policy.Finding) bool {
			return s.path == multimodalPath && s.is("llm-image") && slices.ContainsFunc([]string{"seed", "stream", "enable_interleave"}, func(n string) bool { return s.param(n) != "" })
		}},
	{why: "a synchronous size has a form and no bound; the simulator reads five digits a side", says: "parameters.size must have the form",
		when: func(s sent, _ policy.Finding) bool {
			return s.param("size") == `"100000*1"`
		}},
}
