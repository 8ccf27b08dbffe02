package responses

import (
	"bytes"
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// kilobyte is a request of about 1 KB, as an agent sends it.
var kilobyte = []byte(`{"model":"gpt-4o","instructions":"You answer in one sentence, and you never guess.","input":[{"type":"message",` +
	`"role":"user","content":[{"type":"input_text","text":"` +
	strings.Repeat("What is a sluice, and who keeps it? ", 8) +
	`"}]},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"level","arguments":"{\"river\":1}"},` +
	`{"type":"function_call_output","call_id":"call_1","output":"3.20"}],"temperature":0.7,"top_p":0.9,"max_output_tokens":512,` +
	`"tools":[{"type":"function","name":"level","description":"The level of a river.","strict":true,"parameters":{"type":"object",` +
	`"properties":{"river":{"type":"integer"}},"required":["river"]}},{"type":"web_search"}],"stream":true,"store":false,` +
	`"prompt_cache_key":"u-1"}`)

func BenchmarkRequest(b *testing.B) {
	b.SetBytes(int64(len(kilobyte)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(kilobyte, dialecttest.Models); err != nil {
			b.Fatal(err)
		}
	}
}

// frame is one frame of a stream, as the service sends it.
var frame = dialecttest.Frames(`{"output":{"choices":[{"message":{"content":" and the keeper","role":"assistant"},` +
	`"finish_reason":"null"}]},"usage":{"total_tokens":33,"input_tokens":9,"output_tokens":24,` +
	`"prompt_tokens_details":{"cached_tokens":0}},"request_id":"7a2f3c51-6a0e-9d83-8f0b-0d6f1f5f4c1e"}`)

// begunStream is a stream of an answer whose frames are known to be increments.
func begunStream(a *Answer) *conversation.Stream {
	s := dialecttest.NewStream(a)
	_, _ = s.Append(nil, dialecttest.Frames(dialecttest.Frame("a", "null"), dialecttest.Frame("b", "null")))
	return s
}

func BenchmarkFrame(b *testing.B) {
	a := begun()
	s, dst := begunStream(a), make([]byte, 0, 4<<10)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		a.last().text = a.last().text[:0] // an answer ends one day
		if out, err := s.Append(dst, frame); err != nil || len(out) == 0 {
			b.Fatal(err)
		}
	}
}

func TestFramesAllocateNothing(t *testing.T) {
	a := begun()
	s, dst := begunStream(a), make([]byte, 0, 4<<10)
	a.last().text = make([]byte, 0, 64<<10)
	unlike := bytes.Replace(frame, []byte("4c1e"), []byte("4c1f"), 1)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = s.Append(dst, frame)
		_, _ = s.Append(dst, unlike)
		_, _ = s.Append(dst, unlike)
	}); n > 0 {
		t.Errorf("%v allocations for three frames", n)
	}
}
