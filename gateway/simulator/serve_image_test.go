package simulator

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSyncImage(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct {
		parameters           string
		width, height, count float64
	}{
		{``, 1024, 1024, 1},
		{`"size":"1664*928"`, 1664, 928, 1},
		{`"size":"512*768","n":3`, 512, 768, 3},
	} {
		o := r.post(multimodalPath, draw(tt.parameters)).object(t)
		want := map[string]any{"width": tt.width, "height": tt.height, "image_count": tt.count}
		if diff := cmp.Diff(want, o["usage"]); diff != "" {
			t.Errorf("%s: usage (-want +got):\n%s", tt.parameters, diff)
		}
		choices, _ := at(o, "output", "choices").([]any)
		for _, c := range choices {
			address, _ := at(c, "message", "content", 0, "image").(string)
			if u, err := url.Parse(address); err != nil || u.Host == "" || at(c, "finish_reason") != "stop" || at(c, "message", "role") != "assistant" {
				t.Errorf("choice is %v", c)
			}
		}
		if len(choices) != int(tt.count) {
			t.Errorf("%s: %d choices, want %v", tt.parameters, len(choices), tt.count)
		}
	}
}

// A synchronous image ignores the stream header.
func TestSyncImageIsNeverAStream(t *testing.T) {
	r := newRig(t, Config{})
	if o := r.post(multimodalPath, draw(""), sse...).object(t); at(o, "usage", "image_count") != 1. {
		t.Errorf("answer is %v", o)
	}
}

func TestWhichKindTheMultimodalPathAnswers(t *testing.T) {
	r := newRig(t, Config{SyncImageModels: []string{"draw-*"}, EditImageModels: []string{"edit-*"}})
	body := `{"model":"MODEL","input":{"messages":[{"role":"user","content":[{"text":"A lake"}]}]}}`
	for _, tt := range []struct {
		model  string
		header []string
		want   string
	}{
		{"draw-1", nil, "image"}, {"draw-1", sse, "image"},
		{"edit-1", sse, "interleaved"}, {"edit-1", nil, "chat"},
		{"llm-image", nil, "chat"}, {"gen2.6-image", sse, "chat"}, {"llm-vision", nil, "chat"},
	} {
		g := r.post(multimodalPath, strings.Replace(body, "MODEL", tt.model, 1), tt.header...)
		kind := "chat"
		switch {
		case strings.Contains(g.body, `"width"`):
			kind = "image"
		case strings.Contains(g.body, `"image_count"`):
			kind = "interleaved"
		}
		if kind != tt.want {
			t.Errorf("%s with %q is answered with %s, want %s", tt.model, tt.header, kind, tt.want)
		}
	}
}
