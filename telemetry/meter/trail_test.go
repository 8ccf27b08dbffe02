package meter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A stream whose frames keep changing their shape reads the same with a trail as without: bytes that come one by one
// never take it.
func TestTrailChangesNothing(t *testing.T) {
	parts := []string{
		`"output":{"text":"ab","finish_reason":"null"}`, `"output":{"text":"abc","finish_reason":null}`,
		`"output":{"choices":[{"message":{"content":"x","reasoning_content":""},"finish_reason":"null"}]}`,
		`"output":{"choices":[{"message":{"content":"xy"},"finish_reason":"stop"}]}`,
		`"output":{"choices":[{"index":1,"message":{"content":[{"text":"y"},{"image":"https://r/1"}]}}]}`,
		`"output":{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\""}}]}},{"finish_reason":"length"}]}`,
		`"output":{"task_id":"a","task_status":"RUNNING"}`, `"output":{"task_id":"b","task_status":"SUCCEEDED","finished":true}`,
		`"request_id":"1"`, `"request_id":"2"`, `"code":"Bad","message":"no","status_code":400`, `"code":""`,
		`"usage":{"input_tokens":5,"output_tokens":7}`, `"usage":{"input_tokens":5,"output_tokens":17}`,
		`"usage":{"input_tokens":null,"output_tokens":-3,"other":1}`, `"usage":{"a":{"b":1,"c":{}},"b":[1],"total_tokens":{}}`,
		`"usage":{"prompt_tokens_details":{"cached_tokens":3},"input_tokens":"4"}`, `"usage":null`, `"x":[{"usage":1}]`, `"x":7`,
	}
	rapid.Check(t, func(t *rapid.T) {
		var kinds []string
		for range rapid.IntRange(1, 4).Draw(t, "kinds") {
			kinds = append(kinds, strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 4).Draw(t, "parts"), ","))
		}
		var documents []string
		for _, kind := range rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 12).Draw(t, "frames") {
			documents = append(documents, "{"+kind+"}")
		}
		body := frames(documents...)
		want := read("text/event-stream", eachByte(body)...)
		if diff := cmp.Diff(want, read("text/event-stream", body), byUnexported); diff != "" {
			t.Error(diff)
		}
		lines := slices.Collect(strings.Lines(string(body)))
		var pieces [][]byte
		for _, line := range lines {
			pieces = append(pieces, []byte(line))
		}
		if diff := cmp.Diff(want, read("text/event-stream", pieces...), byUnexported); diff != "" {
			t.Error(diff)
		}
	})
}

// From its third frame on, a usual stream is followed to the end of every document.
func TestTrailIsFollowed(t *testing.T) {
	m := New("text/event-stream", "")
	for i := range 5 {
		frame := strings.Replace(string(deltaFrame), "three words", fmt.Sprintf("word %d", i), 1)
		_, _ = m.Write([]byte(frame[:len(frame)-1])) // without the line that ends the frame
		if i >= 3 && (m.trail.next != m.trail.known || m.trail.known < 5 || m.pace != atVariable) {
			t.Errorf("frame %d: step %d of %d", i, m.trail.next, m.trail.known)
		}
		_, _ = m.Write([]byte("\n"))
	}
}

// A frame too long or too varied for a trail is read without.
func TestTrailHasBounds(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", 2*trailBytes) + `","usage":{"input_tokens":1}}`
	var members []string
	for i := range 2 * trailSteps {
		members = append(members, fmt.Sprintf(`"u%d":%d`, i, i))
	}
	varied := `{"usage":{` + strings.Join(members, ",") + `}}`
	for _, document := range []string{long, varied, `{"output":{"text":"` + strings.Repeat("z", 2*trailBytes) + `"}}`} {
		body := frames(document, document, document, document)
		same(t, document[:20], read("text/event-stream", eachByte(body)...), read("text/event-stream", body))
	}
}
