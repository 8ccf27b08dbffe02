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

// A synchronous image has nothing to stream.
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

func TestEditSize(t *testing.T) {
	wide := dataURI("image/png", pngOf(1000, 500, true))
	huge := dataURI("image/bmp", bmpOf(4000, 1000))
	const far = "https://a.example/b.png"
	for _, tt := range []struct {
		name        string
		text        string
		images      []string
		interleaved bool
		want        size
	}{
		{"explicit", "1280*720", nil, false, size{1280, 720}},
		{"explicit in steps of 16", "1001*1003", nil, false, size{1008, 1008}},
		{"default is 1K", "", []string{far}, false, size{1280, 1280}},
		{"1K", "1K", []string{far}, false, size{1280, 1280}},
		{"2K", "2K", []string{far}, false, size{2048, 2048}},
		{"like the input", "1K", []string{wide}, false, size{1808, 912}},
		{"like the last input", "1K", []string{wide, far}, false, size{1280, 1280}},
		{"2K like the input", "2K", []string{wide}, false, size{2896, 1456}},
		{"interleaved without input", "", nil, true, size{1280, 1280}},
		{"interleaved as the input is", "", []string{wide}, true, size{1000, 500}},
		{"interleaved shrunk", "", []string{huge}, true, size{2560, 640}},
	} {
		if got := editSize(tt.text, tt.images, tt.interleaved); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
