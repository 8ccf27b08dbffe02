package simulator

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/simulator/request"
)

// usageOf is the usage of a chat with these content items.
func usageOf(t *testing.T, r *rig, path, items, parameters string) request.Object {
	t.Helper()
	o := r.post(path, `{"model":"llm-vision","input":{"messages":[{"role":"user","content":[`+items+`]}]},"parameters":{"max_tokens":2`+parameters+`}}`).object(t)
	return request.AsObject(o["usage"])
}

func TestUsage(t *testing.T) {
	r := newRig(t, Config{})
	const picture = `{"image":"https://a.example/b.png"}`
	for _, tt := range []struct {
		name, items, parameters, want string
	}{
		{"plain text", `{"text":"three small words"}`, ``,
			`{"total_tokens":9,"input_tokens":7,"output_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}`},
		{"marked for the cache", `{"text":"three small words","cache_control":{"type":"ephemeral"}}`, ``,
			`{"total_tokens":9,"input_tokens":7,"output_tokens":2,"prompt_tokens_details":{"cached_tokens":0,"cache_creation_input_tokens":3,"cache_type":"ephemeral"}}`},
		{"an image", `{"text":"what"},` + picture, ``,
			`{"input_tokens":1301,"output_tokens":2,"image_tokens":1296,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":5,"image_tokens":1296}}`},
		{"two images", picture + `,` + picture, ``,
			`{"input_tokens":2596,"output_tokens":2,"image_tokens":2592,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"image_tokens":2592}}`},
		{"a small image", picture, `,"max_pixels":78400`,
			`{"input_tokens":104,"output_tokens":2,"image_tokens":100,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"image_tokens":100}}`},
		{"a small image by itself", `{"image":"https://a.example/b.png","max_pixels":78400}`, ``,
			`{"input_tokens":104,"output_tokens":2,"image_tokens":100,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"image_tokens":100}}`},
		{"high resolution overrules max_pixels", picture, `,"max_pixels":784,"vl_high_resolution_images":true`,
			`{"input_tokens":1373,"output_tokens":2,"image_tokens":1369,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"image_tokens":1369}}`},
		{"a video", `{"video":"https://a.example/b.mp4"}`, ``,
			`{"input_tokens":516,"output_tokens":2,"video_tokens":512,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"video_tokens":512}}`},
		{"a sound", `{"audio":"https://a.example/b.wav"}`, ``,
			`{"input_tokens":68,"output_tokens":2,"audio_tokens":64,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"audio_tokens":64}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want request.Object
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, usageOf(t, r, multimodalPath, tt.items, tt.parameters)); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsageIsBilled(t *testing.T) {
	r := newRig(t, Config{})
	var sum float64
	for _, parameters := range []string{``, `"max_tokens":7`, `"n":2`, `"enable_thinking":true`} {
		u := request.AsObject(r.post(textPath, say("hi there", parameters)).object(t)["usage"])
		sum += u["total_tokens"].(float64)
	}
	if got := r.Tally().Tokens; got != int64(sum) {
		t.Errorf("billed %d tokens, told %v", got, sum)
	}
}
