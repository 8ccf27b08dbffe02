package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/strictjson"
)

// faultOf reads a body on the text path and returns its fault; empty if there is none.
func faultOf(t *testing.T, body string) strictjson.Fault {
	t.Helper()
	_, err := policy.Read(&families, policy.Call{Endpoint: policy.EndpointText}, []byte(body))
	if err == nil {
		return ""
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
	return fault.Fault
}

// members is an object of so many members.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// nested is an array nested so deep inside the document, which is the first level.
func nested(depth int) string {
	return `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}"
}

// TestBodies: hostile bodies, and both sides of every limit of the strict pass.
func TestBodies(t *testing.T) {
	long := func(n int) string { return strings.Repeat("n", n) }
	for _, tt := range []struct {
		id, body string
		want     strictjson.Fault
	}{
		{"duplicate", `{"model":"cheap","model":"dear"}`, strictjson.FaultDuplicate},
		{"nested in a tool's schema", `{"parameters":{"tools":[{"function":{"parameters":{"a":1,"a":2}}}]}}`, strictjson.FaultDuplicate},
		{"among many names", strings.TrimSuffix(members(5000), "}") + `,"m77":2}`, strictjson.FaultDuplicate},
		{"same name in siblings", `{"a":{"b":1},"c":{"b":1},"b":[{"b":1},{"b":2}]}`, ""},
		{"other case", `{"model":"dear","MODEL":"cheap"}`, strictjson.FaultCase},
		{"other case alone", `{"Model":"cheap"}`, strictjson.FaultCase},
		{"in a message", `{"input":{"messages":[{"Role":"user"}]}}`, strictjson.FaultCase},
		{"in a content item", `{"input":{"messages":[{"content":[{"Image":"x"}]}]}}`, strictjson.FaultCase},
		{"in a tool", `{"parameters":{"tools":[{"function":{"Name":"f"}}]}}`, strictjson.FaultCase},
		{"in a tool's function", `{"parameters":{"tools":[{"Function":{}}]}}`, strictjson.FaultCase},
		{"in a tool choice", `{"parameters":{"tool_choice":{"function":{"NAME":"f"}}}}`, strictjson.FaultCase},
		{"in a tool call", `{"input":{"messages":[{"tool_calls":[{"ID":"f"}]}]}}`, strictjson.FaultCase},
		{"in a called function", `{"input":{"messages":[{"tool_calls":[{"function":{"Arguments":"f"}}]}]}}`, strictjson.FaultCase},
		{"in a response format", `{"parameters":{"response_format":{"TYPE":"text"}}}`, strictjson.FaultCase},
		{"in a json_schema", `{"parameters":{"response_format":{"json_schema":{"Schema":{}}}}}`, strictjson.FaultCase},
		{"below a tool's parameters", `{"parameters":{"tools":[{"function":{"parameters":{"Type":1,"type":2}}}]}}`, ""},
		{"below a schema", `{"parameters":{"response_format":{"json_schema":{"schema":{"Name":1,"name":2}}}}}`, ""},
		{"known elsewhere", `{"N":1,"Messages":[],"parameters":{"Role":1,"Model":2},"input":{"Size":3}}`, ""},
		{"longer than known", `{"models":1,"Models":2,"parameters":{"NN":1}}`, ""},
		{"escaped duplicate", `{"model":"a","mode\u006c":"b"}`, strictjson.FaultDuplicate},
		{"escaped, once", `{"mode\u006c":"b"}`, ""},
		{"escaped case", `{"\u004dodel":"b"}`, strictjson.FaultCase},
		{"long s", `{"parameters":{"ſize":"1K"}}`, strictjson.FaultCase},
		{"escaped long s", `{"parameters":{"\u017fize":"1K"}}`, strictjson.FaultCase},
		{"Kelvin sign", `{"parameters":{"max_to\u212aens":9}}`, strictjson.FaultCase},
		{"dotless i, which folds to nothing", `{"parameters":{"sıze":9}}`, ""},
		{"object, then null", `{"parameters":{"n":1},"parameters":null}`, strictjson.FaultDuplicate},
		{"object, then object", `{"parameters":{"n":4},"parameters":{"size":"1*1"}}`, strictjson.FaultDuplicate},
		{"in a model", "{\"model\":\"\xff\"}", strictjson.FaultUTF8},
		{"in a prompt", "{\"input\":{\"prompt\":\"\xc3\x28\"}}", strictjson.FaultUTF8},
		{"in a name", "{\"\xe2\x82\":1}", strictjson.FaultUTF8},
		{"overlong", "{\"a\":\"\xc0\xaf\"}", strictjson.FaultUTF8},
		{"surrogate in UTF-8", "{\"a\":\"\xed\xa0\x80\"}", strictjson.FaultUTF8},
		{"beyond Unicode", "{\"a\":\"\xf4\x90\x80\x80\"}", strictjson.FaultUTF8},
		{"high half", `{"a":"\ud800"}`, strictjson.FaultSurrogate},
		{"low half first", `{"a":"\udc00\ud800"}`, strictjson.FaultSurrogate},
		{"in a name", `{"\ud800":1}`, strictjson.FaultSurrogate},
		{"pair", `{"a":"\ud83d\ude00"}`, ""},
		{"in a model", `{"model":"a\u0000"}`, strictjson.FaultNUL},
		{"in an id", `{"input":{"messages":[{"tool_call_id":"\u0000"}]}}`, strictjson.FaultNUL},
		{"in a call's id", `{"input":{"messages":[{"tool_calls":[{"id":"\u0000"}]}]}}`, strictjson.FaultNUL},
		{"in a speaker's name", `{"input":{"messages":[{"name":"\u0000"}]}}`, strictjson.FaultNUL},
		{"in a tool's name", `{"parameters":{"tools":[{"function":{"name":"\u0000"}}]}}`, strictjson.FaultNUL},
		{"in a forced tool's name", `{"parameters":{"tool_choice":{"function":{"name":"\u0000"}}}}`, strictjson.FaultNUL},
		{"in a member name", `{"n\u0000":1}`, strictjson.FaultNUL},
		{"in a prompt", `{"input":{"prompt":"a\u0000b"}}`, ""},
		{"two documents", `{}{}`, strictjson.FaultTrailing},
		{"trailing garbage", `{} x`, strictjson.FaultTrailing},
		{"trailing NUL", "{}\x00", strictjson.FaultTrailing},
		{"trailing comma", `{"a":1,}`, strictjson.FaultSyntax},
		{"comment", `{"a":1/**/}`, strictjson.FaultSyntax},
		{"single quotes", `{'a':1}`, strictjson.FaultSyntax},
		{"NaN", `{"a":NaN}`, strictjson.FaultSyntax},
		{"trailing space", "{} \r\n\t", ""},
		{"depth 64", nested(64), ""},
		{"depth 65", nested(65), strictjson.FaultDepth},
		{"depth of objects", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), strictjson.FaultDepth},
		{"depth 1,000,000", nested(1_000_000), strictjson.FaultDepth},
		{"siblings are no depth", `{"a":[` + strings.TrimSuffix(strings.Repeat("[],", 100), ",") + `]}`, ""},
		{"10,000 members", members(10_000), ""},
		{"10,001 members", members(10_001), strictjson.FaultMembers},
		{"100,000 members of the document", `{"a":[` + members(9_999) + strings.Repeat(","+members(10_000), 9) + `]}`, ""},
		{"100,001 members of the document", `{"a":[` + members(10_000) + strings.Repeat(","+members(10_000), 9) + `]}`, strictjson.FaultMembers},
		{"members of 100,000 objects", `{"a":[{"b":1}` + strings.Repeat(`,{"b":1}`, 99_999) + `]}`, strictjson.FaultMembers},
		{"1,000,000 array items", `{"a":[1` + strings.Repeat(",1", 999_999) + `]}`, ""},
		{"name of 256 bytes", `{"` + long(256) + `":1}`, ""},
		{"name of 257 bytes", `{"` + long(257) + `":1}`, strictjson.FaultLongName},
		{"name of 256 bytes, escaped", `{"` + strings.Repeat(`\u006e`, 256) + `":1}`, ""},
		{"name of 257 bytes, escaped", `{"` + strings.Repeat(`\u006e`, 257) + `":1}`, strictjson.FaultLongName},
		{"name of 10 MiB", `{"` + long(10<<20) + `":1}`, strictjson.FaultLongName},
		{"number of 64 bytes", `{"a":` + strings.Repeat("1", 64) + `}`, ""},
		{"number of 65 bytes", `{"a":` + strings.Repeat("1", 65) + `}`, strictjson.FaultLongNumber},
		{"number of 65 bytes, by its fraction", `{"a":0.` + strings.Repeat("1", 63) + `}`, strictjson.FaultLongNumber},
		{"number of 10 MiB", `{"a":` + strings.Repeat("1", 10<<20) + `}`, strictjson.FaultLongNumber},
		{"array", `[]`, strictjson.FaultNotObject},
		{"null", `null`, strictjson.FaultNotObject},
		{"string", `"x"`, strictjson.FaultNotObject},
		{"empty", ``, strictjson.FaultNotObject},
		{"spaces", "  \n", strictjson.FaultNotObject},
		{"byte order mark", "\ufeff{}", strictjson.FaultNotObject},
	} {
		t.Run(tt.id, func(t *testing.T) {
			if got := faultOf(t, tt.body); got != tt.want {
				t.Errorf("fault %q, want %q", got, tt.want)
			}
		})
	}
}

// TestFloodOfMembers sends names that would collide in a hash without a seed, in objects of the largest size: they take about as
// long as the same number of members in small objects, in the same run.
func TestFloodOfMembers(t *testing.T) {
	fastest := func(members string, objects int) time.Duration {
		body, best := `{"a":[`+members+strings.Repeat(","+members, objects-1)+`]}`, time.Hour
		for range 5 {
			start := time.Now()
			if got := faultOf(t, body); got != "" {
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
		{"text.tools.type", `{"model":"m","input":{"prompt":"x"},"parameters":{"result_format":"message","tools":[`, `{"type":"x","function":{"name":"f"}}`, `]}}`},
	} {
		for n, more := range map[int]string{1: "", 2: " and 1 more", 99: " and 98 more", 100: " and at least 99 more", 101: " and at least 99 more", 10_000: " and at least 99 more"} {
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
		{`{"` + strings.Repeat("m", 99) + `":1,"` + strings.Repeat("m", 99) + `":2}`, `the member "\"` + strings.Repeat("m", 63) + `" appears twice (byte 105)`},
		{"{\"a\":\"\x1b[31m\"}", `a syntax error at "\x1b[31m\"}" (byte 6)`},
		{`{`, `a syntax error at the end (byte 1)`},
		{``, `no object at the end (byte 0)`},
		{`[1]`, `no object at "[1]" (byte 0)`},
		{nested(65), `more than 64 levels of nesting (byte 68)`},
		{"{}" + strings.Repeat("é", 99), `more data after the document at "` + strings.Repeat(`\u00e9`, 32) + `" (byte 2)`},
	} {
		_, err := policy.Read(&families, policy.Call{}, []byte(tt.body))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %s", tt.body, err, tt.want)
		}
	}
}

// TestOffsets: a fault's offset is that of the wrong name, number or byte.
func TestOffsets(t *testing.T) {
	for _, tt := range []struct {
		body string
		at   int
	}{
		{`[]`, 0},
		{`  null`, 2},
		{``, 0},
		{`{"a":1}x`, 7},
		{`{"a":1} {}`, 8},
		{`{"a":1,"a":2}`, 7},
		{`{"a":1, "b":2, "\u0061":2}`, 15},
		{`{"Model":1}`, 1},
		{`{"a":tru}`, 5},
		{`{"a":01}`, 6},
		{`{"a":"b` + "\xff" + `"}`, 7},
		{`{"a":"b\ud800"}`, 7},
		{`{"a":"b\x"}`, 7},
		{`{"model":"a\u0000"}`, 9},
		{`{"a\u0000":1}`, 1},
		{`{"a":` + strings.Repeat("1", 65) + `}`, 5},
		{`{"` + strings.Repeat("n", 257) + `":1}`, 1},
		{nested(65), 68},
		{`{"a":`, 5},
		{`{"a" 1}`, 5},
		{`{"a":1 "b":2}`, 7},
		{`{"a":[1,]}`, 8},
		{`{"a":1,}`, 7},
	} {
		_, err := policy.Read(&families, policy.Call{}, []byte(tt.body))
		var fault *strictjson.Error
		if !errors.As(err, &fault) || fault.Offset != tt.at {
			t.Errorf("%.40s: %v, want byte %d", tt.body, err, tt.at)
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
		if got := faultOf(t, fmt.Sprintf(tt.body, tt.where)); got != "" {
			t.Errorf("%s: %s", tt.where, got)
		}
		if got := faultOf(t, fmt.Sprintf(tt.body, capital)); got != strictjson.FaultCase {
			t.Errorf("%s: %q", capital, got)
		}
		for _, elsewhere := range []string{
			`{"x":{"%s":1}}`, `{"parameters":{"x":[{"%s":1}]}}`, `{"input":{"messages":[[{"%s":1}]]}}`,
			`{"parameters":{"tools":[{"function":{"parameters":{"%s":1}}}]}}`,
			`{"parameters":{"response_format":{"json_schema":{"schema":{"%s":1}}}}}`,
		} {
			if got := faultOf(t, fmt.Sprintf(elsewhere, capital)); got != "" {
				t.Errorf("%s in %s: %q", capital, elsewhere, got)
			}
		}
	}
}
