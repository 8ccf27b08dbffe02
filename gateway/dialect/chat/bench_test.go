package chat

import (
	"bytes"
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// kilobyte is a chat request of about 1 KB, as an agent sends it.
var kilobyte = []byte(`{"messages":[{"role":"system","content":"You answer in one sentence, and you never guess."},{"role":"user",` +
	`"content":"` +
	strings.Repeat("What is a sluice, and who keeps it? ", 8) +
	`"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"level",` +
	`"arguments":"{\"river\":1}"}}]},{"role":"tool","tool_call_id":"call_1","content":"3.20"}],"model":"gpt-4o","temperature":0.7,` +
	`"top_p":0.9,"max_completion_tokens":512,"tools":[{"type":"function","function":{"name":"level","description":"The level of a river.",` +
	`"parameters":{"type":"object","properties":{"river":{"type":"integer"}},"required":["river"]}}}],"stream":true,` +
	`"stream_options":{"include_usage":true},"user":"u-1"}`)

func BenchmarkChat(b *testing.B) {
	b.SetBytes(int64(len(kilobyte)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(kilobyte, dialecttest.Models); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPicture is a chat with a picture of 8 MB.
func BenchmarkPicture(b *testing.B) {
	body := []byte(`{"model":"llm-vl","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
		strings.Repeat("A", 8<<20) + `"}}]}]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(body, dialecttest.Models); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompletion(b *testing.B) {
	native := []byte(`{"output":{"choices":[{"message":{"content":"` + strings.Repeat("A sluice is a gate. ", 40) +
		`","role":"assistant"},"finish_reason":"stop"}]},"usage":{"total_tokens":21,"input_tokens":9,"output_tokens":12,` +
		`"prompt_tokens_details":{"cached_tokens":0}},"request_id":"7a2f3c51"}`)
	dst, in := make([]byte, 0, 4<<10), begun(false)
	b.SetBytes(int64(len(native)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conversation.Whole(dst, in, native); err != nil {
			b.Fatal(err)
		}
	}
}

// frame is one frame of a stream, as the service sends it.
var frame = dialecttest.Frames(`{"output":{"choices":[{"message":{"content":" and the keeper","role":"assistant"},` +
	`"finish_reason":"null"}]},"usage":{"total_tokens":33,"input_tokens":9,"output_tokens":24,` +
	`"prompt_tokens_details":{"cached_tokens":0}},"request_id":"7a2f3c51-6a0e-9d83-8f0b-0d6f1f5f4c1e"}`)

func BenchmarkFrame(b *testing.B) {
	s := begunStream()
	dst := make([]byte, 0, 4<<10)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if out, err := s.Append(dst, frame); err != nil || len(out) == 0 {
			b.Fatal(err)
		}
	}
}

// BenchmarkUnlikeFrame is a frame that differs from the one before in its last member, too, so that it is read member by member.
func BenchmarkUnlikeFrame(b *testing.B) {
	s := begunStream()
	dst := make([]byte, 0, 4<<10)
	two := [][]byte{frame, bytes.Replace(frame, []byte("4c1e"), []byte("4c1f"), 1)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if out, err := s.Append(dst, two[i%2]); err != nil || len(out) == 0 {
			b.Fatal(err)
		}
	}
}

// begunStream is a stream whose frames are known to be increments.
func begunStream() *conversation.Stream {
	s := dialecttest.NewStream(begun(true))
	_, _ = s.Append(nil, dialecttest.Frames(dialecttest.Frame("a", "null"), dialecttest.Frame("b", "null")))
	return s
}

func TestFramesAllocateNothing(t *testing.T) {
	s := begunStream()
	dst := make([]byte, 0, 4<<10)
	unlike := bytes.Replace(frame, []byte("4c1e"), []byte("4c1f"), 1)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = s.Append(dst, frame)
		_, _ = s.Append(dst, unlike)
		_, _ = s.Append(dst, unlike)
	}); n > 0 {
		t.Errorf("%v allocations for three frames", n)
	}
}
