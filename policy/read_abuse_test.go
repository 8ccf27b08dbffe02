package policy_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/strictjson"
)

// faultOf reads a body on the text path and returns its fault, empty for a good body.
func faultOf(t *testing.T, body string) strictjson.Error {
	t.Helper()
	_, err := policy.Read(&families, policy.Call{Endpoint: policy.EndpointText}, []byte(body))
	if err == nil {
		return strictjson.Error{}
	}
	var fault *strictjson.Error
	if !errors.As(err, &fault) {
		t.Fatalf("error %T, want *strictjson.Error", err)
	}
	if len(fault.Input) > 64 {
		t.Errorf("%d bytes of input echoed", len(fault.Input))
	}
	if strings.HasPrefix(fault.Error(), " ") {
		t.Errorf("%s has no words", fault.Fault)
	}
	return *fault
}

// members is an object of n members.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// TestBodies: hostile bodies, and both sides of every limit of the strict pass, with the offset of the wrong name, number or byte.
func TestBodies(t *testing.T) {
	data, err := os.ReadFile("testdata/bodies.txt")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[strictjson.Fault]bool{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		want, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		word, at, _ := strings.Cut(want, "@")
		fault := faultOf(t, longhand(body))
		if string(fault.Fault) != strings.Trim(word, "-") || at != "" && strconv.Itoa(fault.Offset) != at {
			t.Errorf("%.99s: %q at byte %d, want %s", body, fault.Fault, fault.Offset, want)
		}
		shown[fault.Fault] = true
	}
	for name, tt := range map[string]struct {
		body string
		want strictjson.Fault
	}{
		"duplicate among many names":      {strings.TrimSuffix(members(5000), "}") + `,"m77":2}`, strictjson.FaultDuplicate},
		"10,000 members":                  {members(10_000), ""},
		"10,001 members":                  {members(10_001), strictjson.FaultMembers},
		"100,000 members of the document": {`{"a":[` + members(9_999) + strings.Repeat(","+members(10_000), 9) + `]}`, ""},
		"100,001 members of the document": {`{"a":[` + members(10_000) + strings.Repeat(","+members(10_000), 9) + `]}`, strictjson.FaultMembers},
	} {
		if got := faultOf(t, tt.body).Fault; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if len(shown) != 13 {
		t.Errorf("%d faults are shown of 12, and none", len(shown))
	}
}

// TestFloodOfMembers sends names that would collide in a hash without a seed, in objects of the largest size: they take about as
// long as the same number of members in small objects, in the same run.
func TestFloodOfMembers(t *testing.T) {
	fastest := func(members string, objects int) time.Duration {
		body, best := `{"a":[`+members+strings.Repeat(","+members, objects-1)+`]}`, time.Hour
		for range 5 {
			start := time.Now()
			if got := faultOf(t, body).Fault; got != "" {
				t.Errorf("fault %q", got)
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	large, small := fastest(members(9_999), 9), fastest(members(9), 9_999)
	if t.Logf("%v for large objects, %v for small ones", large, small); large > 20*small {
		t.Errorf("89,991 members took %v in large objects, %v in small ones", large, small)
	}
}

// Of many elements with the same fault, the first is described and up to a hundred are counted.
func TestBadItemsAreCountedToAHundred(t *testing.T) {
	for _, tt := range []struct{ rule, open, item, end string }{
		{"text.media.address", `{"model":"m","input":{"messages":[{"role":"user","content":[{"video":[`, `"x"`, `]}]}]}}`},
		{"text.image.address", `{"model":"m","input":{"messages":[{"role":"user","content":[`, `{"image":"x"}`, `]}]}}`},
		{"text.content.item", `{"model":"m","input":{"messages":[{"role":"user","content":[`, `1`, `]}]}}`},
		{"text.role", `{"model":"m","input":{"messages":[`, `{"role":"x","content":"y"}`, `]}}`},
		{"text.tools.type", `{"model":"m","input":{"prompt":"x"},"parameters":{"result_format":"message","tools":[`,
			`{"type":"x","function":{"name":"f"}}`, `]}}`},
	} {
		for n, more := range map[int]string{1: "", 2: " and 1 more", 99: " and 98 more", 100: " and at least 99 more",
			101: " and at least 99 more", 10_000: " and at least 99 more"} {
			body := tt.open + strings.TrimSuffix(strings.Repeat(tt.item+",", n), ",") + tt.end
			request, err := policy.Read(&families, policy.Call{Endpoint: policy.EndpointMultimodal}, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			verdict := policy.Judge(nil, nil, &request)
			at := slices.IndexFunc(verdict.Violations, func(f policy.Finding) bool { return f.Rule == tt.rule })
			if at < 0 || !strings.Contains(verdict.Violations[at].String(), more+", allowed ") || verdict.Violations[at].Count != min(n, 100) {
				t.Errorf("%s, %d times: %+v, want %q", tt.rule, n, verdict.Violations, more)
			}
			request.Release()
		}
	}
}

// Nothing beyond the hundredth is judged, so a list of bad addresses costs as much as a list of strings.
func TestBadItemsCostLittle(t *testing.T) {
	body := []byte(`{"model":"m","input":{"messages":[{"role":"user","content":[{"video":[""` + strings.Repeat(`,""`, 100_000) + `]}]}]}}`)
	made := testing.AllocsPerRun(1, func() {
		request, err := policy.Read(&families, policy.Call{Endpoint: policy.EndpointMultimodal}, body)
		if err != nil {
			t.Fatal(err)
		}
		request.Release()
	})
	if made > 1000 {
		t.Errorf("100,001 bad addresses made %v allocations", made)
	}
}

// TestBodyErrorEchoes shows the message to a client: the fault, the offset, and at most 64 bytes in printable form.
func TestBodyErrorEchoes(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{"model":1,"model":2}`, `the member "model" appears twice (byte 11)`},
		{`{"model":1,"mode\u006c":2}`, `the member "model" appears twice (byte 11)`},
		{`{"Model":1}`, `the member "Model" must be written in lower case (byte 1)`},
		{`{"` + strings.Repeat("m", 99) + `":1,"` + strings.Repeat("m", 99) + `":2}`,
			`the member "\"` + strings.Repeat("m", 63) + `" appears twice (byte 105)`},
		{"{\"a\":\"\x1b[31m\"}", `a syntax error at "\x1b[31m\"}" (byte 6)`},
		{`{`, `a syntax error at the end (byte 1)`},
		{``, `no object at the end (byte 0)`},
		{`[1]`, `no object at "[1]" (byte 0)`},
		{longhand(`{"a":<[*64><]*64>}`), `more than 64 levels of nesting (byte 68)`},
		{"{}" + strings.Repeat("é", 99), `more data after the document at "` + strings.Repeat(`\u00e9`, 32) + `" (byte 2)`},
	} {
		_, err := policy.Read(&families, policy.Call{}, []byte(tt.body))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %s", tt.body, err, tt.want)
		}
	}
}

// TestKnownAtItsPlace writes known names in capitals: they are refused at their place and pass elsewhere.
func TestKnownAtItsPlace(t *testing.T) {
	for _, tt := range []struct{ where, body string }{
		{"model", `{"%s":1}`},
		{"input", `{"%s":1}`},
		{"parameters", `{"%s":1}`},
		{"messages", `{"input":{"%s":1}}`},
		{"prompt", `{"input":{"%s":1}}`},
		{"history", `{"input":{"%s":1}}`},
		{"role", `{"input":{"messages":[{"%s":1}]}}`},
		{"content", `{"input":{"messages":[{"%s":1}]}}`},
		{"tool_calls", `{"input":{"messages":[{"%s":1}]}}`},
		{"text", `{"input":{"messages":[{"content":[{"%s":1}]}]}}`},
		{"image", `{"input":{"messages":[{"content":[{"%s":1}]}]}}`},
		{"video", `{"input":{"messages":[{"content":[{"%s":1}]}]}}`},
		{"n", `{"parameters":{"%s":1}}`},
		{"max_images", `{"parameters":{"%s":1}}`},
		{"enable_interleave", `{"parameters":{"%s":1}}`},
		{"stream", `{"parameters":{"%s":1}}`},
		{"max_tokens", `{"parameters":{"%s":1}}`},
		{"thinking_budget", `{"parameters":{"%s":1}}`},
		{"tools", `{"parameters":{"%s":1}}`},
		{"type", `{"parameters":{"tools":[{"%s":1}]}}`},
		{"name", `{"parameters":{"tools":[{"function":{"%s":1}}]}}`},
		{"parameters", `{"parameters":{"tools":[{"function":{"%s":1}}]}}`},
		{"json_schema", `{"parameters":{"response_format":{"%s":1}}}`},
		{"schema", `{"parameters":{"response_format":{"json_schema":{"%s":1}}}}`},
		{"function", `{"parameters":{"tool_choice":{"%s":1}}}`},
	} {
		capital := strings.ToUpper(tt.where)
		if got := faultOf(t, fmt.Sprintf(tt.body, tt.where)); got.Fault != "" {
			t.Errorf("%s: %s", tt.where, got.Fault)
		}
		if got := faultOf(t, fmt.Sprintf(tt.body, capital)); got.Fault != strictjson.FaultCase {
			t.Errorf("%s: %q", capital, got.Fault)
		}
		for _, elsewhere := range []string{
			`{"x":{"%s":1}}`, `{"parameters":{"x":[{"%s":1}]}}`, `{"input":{"messages":[[{"%s":1}]]}}`,
			`{"parameters":{"tools":[{"function":{"parameters":{"%s":1}}}]}}`,
			`{"parameters":{"response_format":{"json_schema":{"schema":{"%s":1}}}}}`,
		} {
			if got := faultOf(t, fmt.Sprintf(elsewhere, capital)); got.Fault != "" {
				t.Errorf("%s in %s: %q", capital, elsewhere, got.Fault)
			}
		}
	}
}
