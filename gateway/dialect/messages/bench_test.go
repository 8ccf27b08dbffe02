package messages

import (
	"bytes"
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// kilobyte is a request of about 1 KB, as an agent sends it.
var kilobyte = []byte(`{"model":"gpt-4o","max_tokens":512,"system":[{"type":"text","text":"You answer in one sentence,` +
	` and you never guess.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"` +
	strings.Repeat("What is a sluice, and who keeps it? ", 8) +
	`"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"level","input":{"river":1}}]},{"role":"user",` +
	`"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"3.20"}]}],"temperature":0.7,"top_p":0.9,"tools":[{"name":"level",` +
	`"description":"The level of a river.","input_schema":{"type":"object","properties":{"river":{"type":"integer"}},` +
	`"required":["river"]}}],"stream":true,"metadata":{"user_id":"u-1"}}`)

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

// begunStream is a stream whose frames are known to be increments.
func begunStream() *conversation.Stream {
	s := dialecttest.NewStream(begun())
	_, _ = s.Append(nil, dialecttest.Frames(dialecttest.Frame("a", "null"), dialecttest.Frame("b", "null")))
	return s
}

func BenchmarkFrame(b *testing.B) {
	s, dst := begunStream(), make([]byte, 0, 4<<10)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if out, err := s.Append(dst, frame); err != nil || len(out) == 0 {
			b.Fatal(err)
		}
	}
}

func TestFramesAllocateNothing(t *testing.T) {
	s, dst := begunStream(), make([]byte, 0, 4<<10)
	unlike := bytes.Replace(frame, []byte("4c1e"), []byte("4c1f"), 1)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = s.Append(dst, frame)
		_, _ = s.Append(dst, unlike)
		_, _ = s.Append(dst, unlike)
	}); n > 0 {
		t.Errorf("%v allocations for three frames", n)
	}
}

// TestImagesAreCopiedOnce: the memory that a translation takes is that of its result.
func TestImagesAreCopiedOnce(t *testing.T) {
	body := []byte(`{"model":"llm-vl","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64",` +
		`"media_type":"image/png","data":"` + strings.Repeat("A", 8<<20) + `"}}]}]}`)
	if n := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			_, _ = Read(body, dialecttest.Models)
		}
	}).AllocedBytesPerOp(); n > int64(len(body)+64<<10) {
		t.Errorf("%d bytes for a body of %d", n, len(body))
	}
}
