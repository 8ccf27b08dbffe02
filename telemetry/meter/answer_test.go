package meter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestErrorBodiesMayHaveUsage(t *testing.T) {
	for body, want := range map[string]bool{
		`{"code":"InternalError","message":"no","usage":{"total_tokens":7}}`: true,
		`{"code":"InternalError","message":"no"}`:                            false,
	} {
		r := read("application/json", []byte(body))
		if n, ok := r.Usage.Tokens(); !r.Failed || r.ErrorCode != "InternalError" || ok != want || (n == 7) != want {
			t.Errorf("%s: %+v", body, r)
		}
	}
}

func TestUnreadableAnswersKeepWhatTheySaid(t *testing.T) {
	for _, c := range []struct {
		body                    string
		complete, gaveUp, known bool
	}{
		{`{"output":{"text":"abc"}}`, true, false, false},
		{`{"output":{"text":"abc"},"usage":{}}`, true, false, false},
		{`{"usage":{"total_tokens":7},"output":{"text":"abc"`, false, false, true},
		{`{"usage":{"total_tokens":7}},"output":{"text":"abc"}`, false, true, true},
		{`{"usage":{"total_tokens":7} "output":{"text":"abc"}}`, false, true, true},
		{`{"usage":{"total_tokens":7],"output":{"text":"abc"}}`, false, true, true},
		{`{usage:{"total_tokens":7}}`, false, true, false},
		{`{"usage" {"total_tokens":7}}`, false, true, false},
		{`{"usage":,"total_tokens":7}`, false, true, false},
		{`{"usage":{"total_tokens":7`, false, false, false},
		{`{"usage":{"total_tokens":7,}}`, false, true, true},
		{`{,"usage":{"total_tokens":7}}`, false, true, false},
		{`{"output":{"choices":[{},]},"usage":{"total_tokens":7}}`, false, true, false},
		{"{\"output\":{\"text\":\"a\nb\xff\"},\"usage\":{\"total_tokens\":7}}", true, false, true},
		{`{"output":{"text":"\q\uZZZZ"},"usage":{"total_tokens":7}}`, true, false, true},
		{`{"output":"text","usage":{"total_tokens":7}}`, true, false, true},
		{`{"output":[{"text":"x"}],"request_id":7,"usage":{"total_tokens":7}}`, true, false, true},
		{`{"output":{"choices":{"message":{}},"results":"none"},"usage":{"total_tokens":7}}`, true, false, true},
	} {
		r := read("application/json", []byte(c.body))
		if r.Complete != c.complete || r.GaveUp != c.gaveUp || r.Usage.Known() != c.known {
			t.Errorf("%s: complete %t, gave up %t, usage %t", c.body, r.Complete, r.GaveUp, r.Usage.Known())
		}
		same(t, c.body, r, read("application/json", eachByte([]byte(c.body))...))
	}
}

func TestTheLargestUsageCounts(t *testing.T) {
	r := read("text/event-stream", frames(
		`{"usage":{"input_tokens":10,"output_tokens":3,"image_count":1,"plugins":2}}`,
		`{"usage":{"input_tokens":10,"output_tokens":9,"image_count":2,"plugins":5}}`,
		`{"usage":{"input_tokens":4,"output_tokens":8,"image_count":0,"plugins":1}}`,
	))
	want := map[string]float64{"input_tokens": 10, "output_tokens": 9, "image_count": 2, "plugins": 5}
	for name, n := range r.Usage.All() {
		if want[name] != n {
			t.Errorf("%s is %v, want %v", name, n, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestPicturesAreReportedOrCounted(t *testing.T) {
	choice := `{"message":{"content":[{"image":"https://r/%d.png"}]}}`
	result := `{"url":"https://r/%d.png"}`
	for _, c := range []struct {
		story, output, usage string
		told                 int64
		known                bool
		counted              int
	}{
		{"as told", `"choices":[` + choice + `]`, `{"image_count":1}`, 1, true, 1},
		{"told more", `"choices":[` + choice + `]`, `{"image_count":4}`, 4, true, 1},
		{"told less", `"results":[` + result + `,` + result + `]`, `{"image_count":1}`, 1, true, 2},
		{"told zero", `"results":[` + result + `]`, `{"image_count":0}`, 0, true, 1},
		{"not told, choices", `"choices":[` + choice + `,` + choice + `]`, `{}`, 2, true, 2},
		{"not told, results", `"results":[` + result + `,{"code":"x","message":"y"},{"url":""},{"url":null}]`, `{}`, 1, true, 1},
		{"told nonsense", `"results":[` + result + `]`, `{"image_count":-1}`, 1, true, 1},
		{"told null", `"results":[` + result + `]`, `{"image_count":null}`, 1, true, 1},
		{"neither", `"task_status":"SUCCEEDED"`, `{}`, 0, false, 0},
		{"the same address twice", `"results":[{"url":"u"},{"url":"u"}]`, `{}`, 2, true, 2},
	} {
		t.Run(c.story, func(t *testing.T) {
			output := c.output
			for n := 1; strings.Contains(output, "%d"); n++ {
				output = strings.Replace(output, "%d", fmt.Sprint(n), 1)
			}
			r := read("application/json", []byte(`{"output":{`+output+`},"usage":`+c.usage+`}`))
			if n, known := r.Images(); n != c.told || known != c.known || r.ImageCount != c.counted {
				t.Errorf("%d (known %t), counted %d; want %d, %t, %d", n, known, r.ImageCount, c.told, c.known, c.counted)
			}
		})
	}
}

// Pictures are counted once whether a stream repeats them or not, even if there are more than the Meter distinguishes.
func TestPicturesOfAStreamCountOnce(t *testing.T) {
	picture := func(n int) string {
		return fmt.Sprintf(`{"type":"image","image":"https://r/%d.png?Signature=%%3D"}`, n)
	}
	output := func(items ...string) string {
		return `{"output":{"choices":[{"message":{"content":[` + strings.Join(items, ",") + `]}}]}}`
	}
	var news, repeats, items []string
	for n := range 12 {
		items = append(items, picture(n))
		news = append(news, output(picture(n)))
		repeats = append(repeats, output(items...))
	}
	for story, documents := range map[string][]string{"each once": news, "all so far": repeats} {
		if n := read("text/event-stream", frames(documents...)).ImageCount; n != 12 {
			t.Errorf("%s: %d pictures", story, n)
		}
	}
	many := strings.Repeat(picture(1)+",", 99) + picture(1)
	if n := read("", []byte(output(many))).ImageCount; n != 100 {
		t.Errorf("%d of 100 pictures", n)
	}
}

func TestOverlongValues(t *testing.T) {
	long := strings.Repeat("é", 700) // 1,400 bytes
	body := `{"request_id":"` + long + `","` + long + `":1,"code":"Bad","message":"` + long + `",` +
		`"output":{"task_id":"` + long + `"},"usage":{"input_tokens":5,"` + long + `":6,"` + long[:maxPath] + `":7}}`
	r := read("", []byte(body))
	if !r.Complete || r.ResponseID != "" || r.TaskID != "" || r.ErrorCode != "Bad" {
		t.Errorf("%+v", r)
	}
	if len(r.ErrorMessage) != maxToken || !utf8.ValidString(r.ErrorMessage) {
		t.Errorf("the message has %d bytes", len(r.ErrorMessage))
	}
	if got := readable(r); !strings.Contains(got, long[:maxPath]+`": 7`) {
		t.Error(got)
	}
}

// An answer cannot make a Usage grow.
func TestManyUnknownNumbers(t *testing.T) {
	var members []string
	for i := range 1000 {
		members = append(members, fmt.Sprintf(`"unknown_%d":%d`, i, i))
	}
	r := read("", []byte(`{"usage":{`+strings.Join(members, ",")+`,"input_tokens":3}}`))
	if n, _ := r.Usage.Tokens(); n != 3 || len(r.Usage.others) != maxOthers || !r.Odd {
		t.Errorf("tokens %d, %d others, odd %t", n, len(r.Usage.others), r.Odd)
	}
}

// Choices keep their texts and reasons apart, by index if it comes first and by place otherwise.
func TestChoices(t *testing.T) {
	one := func(index int, text, reason string) string {
		return fmt.Sprintf(`{"output":{"choices":[{"index":%d,"message":{"content":%q},"finish_reason":%q}]}}`, index, text, reason)
	}
	r := read("text/event-stream", frames(
		one(0, "a", "null"), one(1, "xy", "null"), one(0, "ab", "null"), one(1, "xyz", "null"),
		one(1, "xyz", "stop"), one(0, "abc", "length"),
	))
	if r.TextBytes != 6 || len(r.FinishReasons) != 2 || r.FinishReasons[0] != "length" || !r.Complete {
		t.Errorf("%+v", r)
	}
	r = read("", []byte(`{"output":{"choices":[{"finish_reason":"stop"},{"finish_reason":"odd one","index":1},
		{"finish_reason":"stop"},{"finish_reason":"stop"},{"finish_reason":"stop"},{"finish_reason":"stop","index":-1}]}}`))
	if len(r.FinishReasons) != proseSlots || r.FinishReasons[1] != "odd one" {
		t.Errorf("%+v", r)
	}
}

// The length and the short values equal those of a full JSON decoder, however they are escaped.
func TestStringsAsADecoderHasThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var literal []byte
		if rapid.Bool().Draw(t, "ascii") {
			literal = []byte(asciiJSON(text))
		} else {
			literal, _ = json.Marshal(text)
		}
		body := fmt.Appendf(nil, `{"output":{"text":%s},"request_id":%s,"code":"x","message":%s}`, literal, literal, literal)
		r := read("", eachByte(body)...)
		if r.TextBytes != len(text) {
			t.Errorf("%d bytes of text, want %d", r.TextBytes, len(text))
		}
		if strings.IndexFunc(text, func(c rune) bool { return c > 0xffff }) < 0 && len(text) <= maxToken {
			if r.ResponseID != text || r.ErrorMessage != text {
				t.Errorf("%q and %q", r.ResponseID, r.ErrorMessage)
			}
		}
	})
}

// asciiJSON escapes every character beyond ASCII, as some encoders do.
func asciiJSON(s string) string {
	plain, _ := json.Marshal(s)
	var b strings.Builder
	for _, c := range string(plain) {
		switch {
		case c > 0xffff:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		case c > 0x7f:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func TestResetForgetsEverything(t *testing.T) {
	m := New("text/event-stream", "")
	for name, body := range recorded(t) {
		m.Reset("text/event-stream", "gzip")
		m.Reset(contentType(name), "")
		_, _ = m.Write(body)
		kept := m.End()
		want := read(contentType(name), body)
		same(t, name, want, kept)
		m.Reset("", "")
		_, _ = m.Write([]byte(`{"output":{"choices":[{"finish_reason":"length"}]},"usage":{"x":1}}`))
		same(t, name+", read earlier", want, kept)
	}
}

// Text such as nan is no JSON number: it is ignored, and the log line stays JSON.
func TestWordsAreNoNumbers(t *testing.T) {
	for _, word := range []string{"nan", "NaN", "inf", "-Infinity", "0x1p4", "1_0", "0x_1_0p0000000000000"} {
		r := read("application/json", []byte(`{"usage":{"total_tokens":`+word+`,"x":`+word+`}}`))
		if r.Usage.Known() || !r.Odd && !r.GaveUp {
			t.Errorf("%s was read as %+v", word, r.Usage)
		}
	}
}

// An empty code has no meaning, wherever it is.
func TestEmptyCodeHidesNoFailure(t *testing.T) {
	for _, body := range []string{
		`{"output":{"task_id":"t","task_status":"FAILED","code":"X","message":"m"},"code":"","message":""}`,
		`{"code":"","message":"","output":{"task_id":"t","task_status":"FAILED","code":"X","message":"m"}}`,
		`{"code":"X","message":"m","output":{"code":"","message":""}}`,
	} {
		if r := read("application/json", []byte(body)); !r.Failed || r.ErrorCode != "X" || r.ErrorMessage != "m" {
			t.Errorf("%s: %+v", body, r)
		}
	}
	if r := read("application/json", []byte(`{"code":"","message":"","output":{"text":"a"}}`)); r.Failed {
		t.Errorf("a successful answer: %+v", r)
	}
}

// The status of a task decides whether its stream is complete.
func TestFinalStatusEndsAStream(t *testing.T) {
	for status, want := range map[string]bool{"RUNNING": false, "SUCCEEDED": true, "FAILED": true, "CANCELED": true, "CANCELLED": true,
		"UNKNOWN": false} {
		body := "data:{\"output\":{\"task_id\":\"t\",\"task_status\":\"RUNNING\"}}\n\ndata:{\"output\":{\"task_id\":\"t\",\"task_status\":\"" +
			status + "\"},\"usage\":{\"image_count\":2}}\n\n"
		if r := read("text/event-stream", []byte(body)); r.Complete != want {
			t.Errorf("%s: complete is %v", status, r.Complete)
		}
	}
}
