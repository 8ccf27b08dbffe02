package policy_test

import (
	"slices"
	"strings"
	"testing"

	"sluice/policy"
)

// TestHeaders: the two headers that are switches, on every path.
func TestHeaders(t *testing.T) {
	text := textBody("llm-max", "")
	for _, tt := range []struct {
		id         string
		call       policy.Call
		body, want string
	}{
		{"on a task", policy.Call{Endpoint: policy.EndpointImage, Async: []string{"enable"}}, editBody(""), ""},
		{"any case", policy.Call{Endpoint: policy.EndpointImage, Async: []string{"Enable"}}, editBody(""), ""},
		{"twice the same", policy.Call{Endpoint: policy.EndpointImage, Async: []string{"enable", "ENABLE"}}, editBody(""), ""},
		{"absent on a task", policy.Call{Endpoint: policy.EndpointImage}, editBody(""), "header.async"},
		{"disable on a task", policy.Call{Endpoint: policy.EndpointImage, Async: []string{"disable"}}, editBody(""), "header.async"},
		{"twice, different", policy.Call{Endpoint: policy.EndpointImage, Async: []string{"disable", "enable"}}, editBody(""), "header.async"},
		{"both in one", policy.Call{Endpoint: policy.EndpointImage, Async: []string{"enable, enable"}}, editBody(""), "header.async"},
		{"true", policy.Call{Endpoint: policy.EndpointImage, Async: []string{"true"}}, editBody(""), "header.async"},
		{"empty", policy.Call{Endpoint: policy.EndpointImage, Async: []string{""}}, editBody(""), "header.async"},
		{"absent on an older family", policy.Call{Endpoint: policy.EndpointImage, Older: true}, `{"model":"m","input":{"prompt":"a"}}`,
			"header.async"},
		{"on a text", policy.Call{Endpoint: policy.EndpointText, Async: []string{"enable"}}, text, "header.async"},
		{"disable on a text", policy.Call{Endpoint: policy.EndpointText, Async: []string{"disable"}}, text, ""},
		{"on a synchronous image", policy.Call{Endpoint: policy.EndpointMultimodal, Async: []string{"enable"}}, syncBody(""), "header.async"},
		{"on an interleaved stream", policy.Call{Endpoint: policy.EndpointMultimodal, Async: []string{"enable"}, SSE: []string{"enable"}},
			interleaveBody(""), "header.async"},
		{"streams", policy.Call{Endpoint: policy.EndpointText, SSE: []string{"ENABLE"}}, text, ""},
		{"does not stream", policy.Call{Endpoint: policy.EndpointText, SSE: []string{"Disable"}}, text, ""},
		{"streams by true", policy.Call{Endpoint: policy.EndpointText, SSE: []string{"true"}}, text, "header.sse"},
		{"streams by nothing", policy.Call{Endpoint: policy.EndpointText, SSE: []string{""}}, text, "header.sse"},
		{"streams and does not", policy.Call{Endpoint: policy.EndpointText, SSE: []string{"enable", "disable"}}, text, "header.sse"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			if got := strings.Join(ids(judged(t, &families, tt.call, tt.body)), " "); got != tt.want {
				t.Errorf("broke %q, want %q", got, tt.want)
			}
		})
	}
}

// TestStream: the SSE header or Accept make a stream, as upstream decides it, never the body.
func TestStream(t *testing.T) {
	for _, tt := range []struct {
		sse    []string
		accept string
		body   string
		want   bool
	}{
		{nil, "", textBody("m", `"stream":true`), false},
		{[]string{"enable"}, "", textBody("m", `"stream":false`), true},
		{[]string{"eNaBlE"}, "", textBody("m", ``), true},
		{[]string{"disable"}, "", textBody("m", ``), false},
		{nil, "text/event-stream", textBody("m", ``), true},
		{nil, "application/json, Text/Event-Stream; q=0.9", textBody("m", ``), true},
		{nil, "*/*", textBody("m", ``), false},
		{nil, "text/event-streams", textBody("m", ``), false},
	} {
		q, err := policy.Read(&families, policy.Call{Endpoint: policy.EndpointText, SSE: tt.sse, Accept: tt.accept}, []byte(tt.body))
		if err != nil || q.Stream != tt.want {
			t.Errorf("%v %q %s: stream %v, %v; want %v", tt.sse, tt.accept, tt.body, q.Stream, err, tt.want)
		}
	}
}

// TestInterleavedStreamsByHeaderOrAccept: the SSE header or Accept make an interleaved answer a stream, on both paths. A missing
// stream parameter causes a warning; stream false, or a request without header and Accept, is refused.
func TestInterleavedStreamsByHeaderOrAccept(t *testing.T) {
	header, accept := policy.Call{SSE: []string{"Enable"}}, policy.Call{Accept: "text/event-stream"}
	for _, tt := range []struct {
		call         policy.Call
		stream, want string
	}{
		{header, ``, "image.interleave.stream.absent?"},
		{accept, ``, "image.interleave.stream.absent?"},
		{header, `,"stream":null`, "image.interleave.stream.absent?"},
		{header, `,"stream":true`, ""},
		{accept, `,"stream":true`, ""},
		{header, `,"stream":false`, "image.interleave.stream"},
		{accept, `,"stream":false`, "image.interleave.stream"},
		{policy.Call{}, `,"stream":true`, "image.interleave.stream"},
		{policy.Call{}, ``, "image.interleave.stream"},
		{policy.Call{SSE: []string{"disable"}}, `,"stream":true`, "image.interleave.stream"},
	} {
		for endpoint, async := range map[policy.Endpoint][]string{policy.EndpointMultimodal: nil, policy.EndpointImage: {"enable"}} {
			tt.call.Endpoint, tt.call.Async = endpoint, async
			if got := strings.Join(ids(judged(t, &families, tt.call, itemsBody("gen2.6-image", oneImage, `"enable_interleave":true`+tt.stream))),
				" "); got != tt.want {
				t.Errorf("%s, SSE %v, Accept %q%s: broke %q, want %q", endpoint, tt.call.SSE, tt.call.Accept, tt.stream, got, tt.want)
			}
		}
	}
}

// TestTextStreamsByHeader is the same for text: a stream parameter that contradicts the header has no effect, and causes a
// warning.
func TestTextStreamsByHeader(t *testing.T) {
	for _, tt := range []struct{ call, stream, want string }{
		{"text+sse", ``, ""},
		{"text+sse", `"stream":true`, ""},
		{"text+sse", `"stream":false`, "text.stream.header?"},
		{"text", `"stream":true`, "text.stream.header?"},
		{"text", `"stream":false`, ""},
		{"text", ``, ""},
	} {
		if got := strings.Join(verdict(t, &families, tt.call, textBody("llm-max", tt.stream)), " "); got != tt.want {
			t.Errorf("%s, %s: broke %q, want %q", tt.call, tt.stream, got, tt.want)
		}
	}
}

// A switch that is off is not a switch that is missing.
func TestFindingsQuoteASwitchThatIsOff(t *testing.T) {
	call := policy.Call{Endpoint: policy.EndpointImage, Async: []string{"disable"}}
	want := `X-Service-Async: given "disable", allowed enable where a task is created, elsewhere disable or no such header (header.async)`
	if v := judged(t, &families, call, editBody(`"n":1`)); len(v.Violations) != 1 || v.Violations[0].String() != want {
		t.Errorf("%v\nwant %s", v.Violations, want)
	}
}

// TestFindingsNameTheServicesHeaders: a finding uses this service's header names, and mentions the neutral name if the client
// sent that.
func TestFindingsNameTheServicesHeaders(t *testing.T) {
	const sync, interleaved = `"n":1`, `"enable_interleave":true,"stream":true`
	sent := func(name string) map[string][]string {
		return map[string][]string{name: {"enable"}, "Accept": {"*/*"}, "X-Acme-Asynchron": {"enable"}, "Async": {"enable"}}
	}
	for _, tt := range []struct{ header, parameters, want string }{
		{"", sync, "X-Acme2-Async: given nothing, allowed enable where a task is created, elsewhere disable or no such header (header.async)"},
		{"X-Other-Async", sync, "X-Acme2-Async: given X-Other-Async in its place, allowed enable where a task is created, elsewhere disable " +
			"or no such header (header.async)"},
		{"x-other-ASYNC", sync, "X-Acme2-Async: given x-other-ASYNC in its place, allowed enable where a task is created, elsewhere disable " +
			"or no such header (header.async)"},
		{"X-" + strings.Repeat("o", 99) + "-Async", sync, "X-Acme2-Async: given X-" + strings.Repeat("o", 62) +
			"... in its place, allowed enable where a task is created, elsewhere disable or no such header (header.async)"},
		{"", interleaved, "parameters.stream: given no such header, allowed the header X-Acme2-SSE: enable, and stream true beside it " +
			"(image.interleave.stream)"},
		{"X-Other-Sse", interleaved, "parameters.stream: given X-Other-Sse in its place, allowed the header X-Acme2-SSE: enable, and stream " +
			"true beside it (image.interleave.stream)"},
	} {
		call := policy.Call{Endpoint: policy.EndpointImage, Prefix: "X-Acme2-", Header: sent(tt.header)}
		if tt.parameters == interleaved {
			call.Async = []string{"enable"}
		}
		if v := judged(t, &families, call, editBody(tt.parameters)); len(v.Violations) != 1 || v.Violations[0].String() != tt.want {
			t.Errorf("%s: %v\nwant %s", tt.header, v.Violations, tt.want)
		}
	}
}

// TestNoFindingNamesAnotherService: no finding uses a header's neutral name if the service has another.
func TestNoFindingNamesAnotherService(t *testing.T) {
	named := 0
	for _, tt := range ruleCases(t) {
		call := calls[tt.call]
		call.Prefix = "X-Acme-"
		v := judged(t, &all, call, tt.body)
		for _, f := range slices.Concat(v.Violations, v.Warnings) {
			if said := f.String() + f.Warning(); strings.Contains(said, "X-Service") {
				t.Error(said)
			} else if strings.Contains(said, "X-Acme-") {
				named++
			}
		}
	}
	if named == 0 {
		t.Error("no finding named a header")
	}
}
