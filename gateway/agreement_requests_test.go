package gateway_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// sent is a request. Its parts are raw JSON; an empty one is absent.
type sent struct {
	path       string
	model      string
	input      string
	parameters [][2]string
	instead    string // of the object of parameters
	more       string // members after the parameters
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

// param returns a parameter as it is written, empty if it is absent.
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
	{path: multimodalPath, model: `"gen2.6-t2i"`, input: listInput, parameters: [][2]string{{"size", `"1024*1024"`}, {"watermark", "false"}}},
	{path: imagePath, model: `"gen2.5-t2i"`, input: listInput, header: http.Header{"X-Service-Async": {"enable"}}},
	{path: olderPath, model: `"gen2.5-t2i"`, input: `{"prompt":"A lighthouse"}`, header: http.Header{"X-Service-Async": {"enable"}}},
}

// change is a part, header or parameter, and its new value.
type change [2]string

// values are the new values of parameters and parts: both sides of every bound, and every type.
var values = map[string][]string{
	"n": {"", "0", "1", "2", "4", "5", "100", "101", "-1", "-0", "1.0", "1e0", "1.5", `"1"`, "null", "true",
		"99999999999999999999"}, "max_images": {"0", "1", "5", "6", "2.0", `"3"`, "null"},
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
	"negative_prompt": {`""`, `"grey"`, "null", "5", "[]", `"` + strings.Repeat("雨", 500) + `"`,
		`"` + strings.Repeat("雨", 501) + `"`}, "result_format": {"", `"text"`, `"message"`, `"json"`, "null", "1"},
	"size": {
		`""`, `"1K"`, `"2K"`, `"1k"`, `"3K"`, "null", "1024", `"1024x1024"`, `"1024*"`, `"*1024"`, `" 1024*1024"`, `"01024*1024"`,
		`"768*768"`, `"767*768"`, `"1280*1280"`, `"1280*1281"`, `"2048*2048"`, `"2048*2049"`, `"384*1536"`, `"383*1540"`, `"1536*384"`,
		`"2400*600"`, `"2401*600"`, `"1000*1000"`, `"640*480"`, `"99999*99999"`, `"100000*1"`, `"0*0"`, `"-1024*1024"`, `"1024*1024*1024"`,
	},
	"stop": {
		`"end"`, `["a","b"]`, "[1,2]", "[[1],[2,3]]", "[]", "[[]]", "null", "1", "{}", `["a",1]`, "[1,[2]]", "[1.0]", "[1.5]", "[-1]", "[[-1]]",
		"[-0]", "[null]", "[true]", `[["a"]]`, "[[1.0]]",
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
	"model":      {"", "null", "5", `""`, `"llm-max"`, `"` + strings.Repeat("m", 256) + `"`, `"` + strings.Repeat("m", 257) + `"`},
	"parameters": {"null", "[]", `"x"`},
	"more": {`,"stranger":{"n":99}`, `,"model":"llm-max"`, `,"Model":"x"`, `,"x":"\ud800"`,
		`,"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70)}, "after": {" \n", "{}", "]"},
	"Accept":          {"", "text/event-stream", "application/json", "text/event-stream;q=0.9, */*"},
	"X-Service-Async": {"", "enable", "ENABLE", "disable", "maybe", "enable|enable", "enable|disable", "disable|enable"},
	"X-Service-Sse":   {"", "enable", "Enable", "disable", "maybe", "enable|disable"},
}

// contents are values of a message's content, without pictures in the body.
var contents = []string{
	"", "null", "5", `""`, `"a"`, "[]", `["a"]`, "[null]", "[{}]", `[{"text":""}]`, `[{"text":"a"}]`, `[{"text":5}]`, `[{"text":null}]`,
	`[{"text":"a"},{"text":"b"}]`, `[{"text":"a"},{"file":"b"}]`, `[{"text":"a","image":"https://a/b"}]`, `[{"text":"a"},{"image":5}]`,
	`[{"text":"a"},{"image":null}]`, `[{"text":"a"},{"image":""}]`, `[{"image":"https://a/b"}]`, `[{"text":"a"},{"image":"HTTP://a/b"}]`,
	`[{"text":"a"},{"image":"ftp://a/b"}]`, `[{"text":"a"},{"image":"oss://a/b"}]`, `[{"text":"a"},{"image":"http://u:p@a/b"}]`,
	`[{"text":"a"},{"image":"https://ü/b"}]`, `[{"text":"a"},{"image":"a.png"}]`, `[{"text":"a"},{"image":"data:image/png;base64,"}]`,
	`[{"text":"a"},{"image":"data:image/png;base64,QUI"}]`, `[{"text":"a"},{"image":"data:image/png,QUJD"}]`,
	`[{"text":"a"},{"image":"data:image/gif;base64,QUJD"}]`, `[{"text":"a"},{"image":"DATA:image/png;base64,QUJD"}]`,
	`[{"text":"a"},{"image":"data:image/png;q=1;base64,QUJD"}]`, `[{"text":"a"},{"video":"https://a/b"}]`,
	`[{"text":"a"},{"video":["https://a/b"]}]`,
	`[{"text":"a"},{"video":[]}]`, `[{"text":"a"},{"video":5}]`, `[{"text":"a"},{"video":"ftp://a/b"}]`,
	`[{"text":"a"},{"audio":"https://a/b"}]`,
	`[{"text":"a"},{"audio":["https://a/b"]}]`, `[{"text":"a"},{"audio":{}}]`, `[{"text":"a"},{"audio":"nowhere"}]`,
	`[{"text":"` + strings.Repeat("字", 2000) + `"}]`, `[{"text":"` + strings.Repeat("字", 2001) + `"}]`,
}

// inputs are whole inputs, beside those with one message.
var inputs = []string{
	"", "null", "[]", "{}", `{"messages":null}`, `{"messages":[]}`, `{"messages":{}}`, `{"messages":[5]}`, `{"prompt":""}`, `{"prompt":"a"}`,
	`{"prompt":5}`,
	`{"prompt":"a","messages":null}`, `{"prompt":"a","messages":[]}`, `{"prompt":5,"messages":[{"role":"user","content":[{"text":"a"}]}]}`,
	`{"prompt":"a","history":[{"user":"a","bot":"b"}]}`, `{"prompt":"a","history":{}}`, `{"prompt":"a","history":[{"user":5}]}`,
	`{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}]}`, `{"messages":[{"content":"a"}]}`,
	`{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"user","content":[{"text":"b"}]}]}`,
	`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function",` +
		`"function":{"name":"f","arguments":"{}"}}]}]}`,
}

func pictures(t *testing.T) (list []string) {
	opaque, clear := image.NewGray(image.Rect(0, 0, 240, 240)), image.NewNRGBA(image.Rect(0, 0, 240, 240))
	clear.Set(0, 0, color.NRGBA{A: 9})
	for _, p := range []image.Image{
		opaque, clear, image.NewGray(image.Rect(0, 0, 239, 240)), image.NewGray(image.Rect(0, 0, 8000, 240)),
		image.NewGray(image.Rect(0, 0, 8001, 240)),
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

// docket is every base with every single change, and the products of the parameters that are judged together.
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

// product is the request with every combination of these values.
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
