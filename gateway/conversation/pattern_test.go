package conversation

import (
	"fmt"
	"strings"
	"testing"
)

// silent is a dialect that says nothing.
type silent struct{}

func (silent) Begin(Head)                         {}
func (silent) Delta(dst []byte, _ *Delta) []byte  { return dst }
func (silent) Close(dst []byte, _ *Usage) []byte  { return dst }
func (silent) Fail(dst []byte, _ *Refusal) []byte { return dst }
func (silent) Whole(dst []byte, _ *Answer) []byte { return dst }

// TestUsualEventsFit: in each form that the service has, they are read by comparing them with the one before.
func TestUsualEventsFit(t *testing.T) {
	const usage = `"usage":{"output_tokens":%[1]d}`
	for _, form := range []string{
		`data:{"output":{"choices":[{"message":{"content":"%[2]s"}}]},` + usage + `}`,
		`data:{"output":{"choices":[{"message":{"content":"","reasoning_content":"%[2]s"},"index":1}]},` + usage + `,"request_id":"7f3c"}`,
		`data:{"output":{"choices":[{"message":{"content":[{"text":"%[2]s"}]},"finish_reason":"null"}]},` + usage + `}`,
		`data:{"output":{"text":"%[2]s","finish_reason":"null"},` + usage + `}`,
		`data: { "output" : { "choices" : [ { "message" : { "content" : "%[2]s" } } ] } , ` + usage + ` }`,
		"id:%[1]d\nevent:result\n:HTTP_STATUS/200\n" + `data:{"output":{"choices":[{"message":{"content":"%[2]s"}}]},` + usage + `}`,
		"id: %[1]d\nevent: result\n" + `data: {"output":{"choices":[{"message":{"content":"%[2]s"}}]},` + usage + `}`,
	} {
		event := func(n int, text string) string { return fmt.Sprintf(form+"\n\n", n, text) }
		s := new(Stream)
		s.Begin(silent{})
		if _, err := s.Append(nil, []byte(event(9, "a")+event(10, "b"))); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"c", "", "词 \U0001f600", `\"\u00e4\n`, strings.Repeat("long ", 9000)} {
			next := event(1234, text)
			got, usage, size := s.pattern.fits([]byte(next + "id:1235"))
			if string(got) != text || string(usage) != `{"output_tokens":1234}` || size != len(next) {
				t.Errorf("%.300q: %.50q, %s, %d of %d bytes", next, got, usage, size, len(next))
			}
		}
	}
}
