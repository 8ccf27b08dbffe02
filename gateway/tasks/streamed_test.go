package tasks

import (
	"reflect"
	"testing"

	"sluice/gateway/billing"
	"sluice/telemetry/meter"
)

// What is kept of a stream costs what the stream costs.
func TestWhatIsKeptOfAStream(t *testing.T) {
	for _, frames := range []string{
		`{"output":{"task_id":"t","choices":[{"message":{"content":[{"image":"https://pictures/1"}]}}]}}`,
		`{"usage":{"image_count":2,"size":"1024*768"}}`,
		`{"usage":{"image_count":2,"width":1024,"height":768}}`,
		`{"usage":{"image_count":1,"size":"2K","of_another":3}}`,
		`{"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":20,"image_count":0,"input_tokens_details":{"cached_tokens":4,` +
			`"image_tokens":3,"cache_type":"ephemeral"},"output_tokens_details":{"reasoning_tokens":2}}}`,
		`{"usage":{"total_tokens":20}}`,
	} {
		reads := meter.New("text/event-stream", "")
		_, _ = reads.Write([]byte("data:" + frames + "\n\n"))
		stream := reads.End()
		kept := read([]byte(counted("t", &stream)))
		if got, want := billing.UsageOf(&kept, true, "1K"), billing.UsageOf(&stream, true, "1K"); !reflect.DeepEqual(got, want) ||
			kept.TaskID != "t" || kept.TaskStatus != "SUCCEEDED" {
			t.Errorf("%s is kept as %+v, want %+v", frames, got, want)
		}
		if got, want := billing.Tells(&kept, true, true), billing.Tells(&stream, true, true); got != want {
			t.Errorf("%s tells %v, want %v", frames, got, want)
		}
	}
}
