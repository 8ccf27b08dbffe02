package simulator

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

func TestEditParameterBounds(t *testing.T) {
	judge(t, New(Config{}), imagePath, edit, async, []verdict{
		{"nothing", ``, ""},
		{"n at 1", `"n":1`, ""},
		{"n at 4", `"n":4`, ""},
		{"n at 0", `"n":0`, "n must be in [1, 4]"},
		{"n at 5", `"n":5`, "n must be in [1, 4]"},
		{"n not whole", `"n":1.5`, "n must be an integer"},
		{"n no number", `"n":"2"`, "n must be a number"},
		{"n null is absent", `"n":null`, ""},
		{"seed at 0", `"seed":0`, ""},
		{"seed at the end", `"seed":2147483647`, ""},
		{"seed beyond", `"seed":2147483648`, "seed"},
		{"seed below", `"seed":-1`, "seed"},
		{"watermark", `"watermark":true`, ""},
		{"watermark no boolean", `"watermark":1`, "watermark must be a boolean"},
		{"prompt_extend no boolean", `"prompt_extend":"no"`, "prompt_extend must be a boolean"},
		{"enable_interleave no boolean", `"enable_interleave":"no"`, "enable_interleave must be a boolean"},
		{"stream no boolean", `"stream":"no"`, "stream must be a boolean"},
		{"stream in editing mode", `"stream":true`, ""},
		{"max_images belongs to the other mode", `"max_images":99`, ""},
		{"negative prompt", `"negative_prompt":"fog"`, ""},
		{"empty negative prompt", `"negative_prompt":""`, ""},
		{"negative prompt at 500", `"negative_prompt":"` + strings.Repeat("雾", 500) + `"`, ""},
		{"negative prompt at 501 is cut, not refused", `"negative_prompt":"` + strings.Repeat("雾", 501) + `"`, ""},
		{"negative prompt no string", `"negative_prompt":1`, "negative_prompt must be a string"},
		{"unknown names are legal", `"style":"<auto>"`, ""},
	})
}

func TestEditSizeRules(t *testing.T) {
	sized := func(size string) string { return edit(`"size":"` + size + `"`) }
	judge(t, New(Config{}), imagePath, sized, async, []verdict{
		{"1K", "1K", ""},
		{"2K", "2K", ""},
		{"4K", "4K", "size"},
		{"small k", "1k", "size"},
		{"least pixels", "768*768", ""},
		{"one row less", "768*767", "total pixels within [768*768, 2048*2048]"},
		{"most pixels", "2048*2048", ""},
		{"one row more", "2048*2049", "total pixels"},
		{"as wide as may be", "2048*512", ""},
		{"wider", "2052*512", "aspect ratio"},
		{"as high as may be", "512*2048", ""},
		{"higher", "512*2052", "aspect ratio"},
		{"no multiple of 16 is rounded", "1001*1003", ""},
		{"with an x", "1280x1280", "size"},
		{"one number", "1280", "size"},
	})
	if got := refusalOf(t, New(Config{}), imagePath, edit(`"size":1280`), async...); !strings.Contains(got, "size must be a string") {
		t.Errorf("a number for a size: %q", got)
	}
}

func TestInterleavedRules(t *testing.T) {
	both := append([]string{"X-Service-Sse", "enable"}, async...)
	told := func(change string) string {
		parameters, content, ok := strings.Cut(change, "|")
		if !ok {
			content = `{"text":"A quiet lake"}`
		}
		return `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[` + content + `]}]},
			"parameters":{"enable_interleave":true,"stream":true` + parameters + `}}`
	}
	judge(t, New(Config{}), imagePath, told, both, []verdict{
		{"nothing", ``, ""},
		{"n absent is legal, 1 too", `,"n":1`, ""},
		{"n at 2", `,"n":2`, "n must be in [1, 1]"},
		{"max_images at 1", `,"max_images":1`, ""},
		{"max_images at 5", `,"max_images":5`, ""},
		{"max_images at 0", `,"max_images":0`, "max_images must be in [1, 5]"},
		{"max_images at 6", `,"max_images":6`, "max_images must be in [1, 5]"},
		{"1K is editing only", `,"size":"1K"`, "size"},
		{"least pixels", `,"size":"768*768"`, ""},
		{"too few pixels", `,"size":"768*767"`, "[768*768, 1280*1280]"},
		{"most pixels", `,"size":"1280*1280"`, ""},
		{"too many pixels", `,"size":"1280*1281"`, "[768*768, 1280*1280]"},
		{"as wide as may be", `,"size":"1600*400"`, ""},
		{"wider", `,"size":"1604*400"`, "aspect ratio"},
		{"one image", `|{"text":"a"},{"image":"https://a.example/b.png"}`, ""},
		{"two images", `|{"text":"a"},{"image":"https://a.example/b.png"},{"image":"https://a.example/b.png"}`, "0 to 1 images"},
	})
}

func TestInterleavedNeedsAStream(t *testing.T) {
	const body = `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"a"}]}]},"parameters":{"enable_interleave":true`
	for _, tt := range []struct {
		name, more, header, value, want string
	}{
		{"both", `,"stream":true}}`, "X-Service-Sse", "enable", ""},
		{"both, by Accept", `,"stream":true}}`, "Accept", "text/event-stream", ""},
		{"header only", `}}`, "X-Service-Sse", "enable", ""},
		{"null and header", `,"stream":null}}`, "X-Service-Sse", "enable", ""},
		{"false and header", `,"stream":false}}`, "X-Service-Sse", "enable", "stream must be true"},
		{"parameter only", `,"stream":true}}`, "X-A", "", "X-Service-Sse must be enable"},
		{"header disabled", `,"stream":true}}`, "X-Service-Sse", "disable", "X-Service-Sse must be enable"},
	} {
		got := refusalOf(t, New(Config{}), imagePath, body+tt.more, append([]string{tt.header, tt.value}, async...)...)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: said %q, want %q", tt.name, got, tt.want)
		}
	}
}

// message makes a request with this content of its one message.
func editMessage(message string) string {
	return `{"model":"gen2.6-image","input":{"messages":[` + message + `]}}`
}

func TestEditMessageRules(t *testing.T) {
	const image = `{"image":"https://a.example/b.png"}`
	user := func(items ...string) string {
		return `{"role":"user","content":[` + strings.Join(items, ",") + `]}`
	}
	judge(t, New(Config{}), imagePath, editMessage, async, []verdict{
		{"one image", user(`{"text":"a"}`, image), ""},
		{"image first", user(image, `{"text":"a"}`), ""},
		{"four images", user(`{"text":"a"}`, image, image, image, image), ""},
		{"no image", user(`{"text":"a"}`), "1 to 4 images"},
		{"five images", user(`{"text":"a"}`, image, image, image, image, image), "1 to 4 images"},
		{"no text", user(image), "exactly one text item"},
		{"empty text", user(`{"text":""}`, image), "exactly one text item"},
		{"two texts", user(`{"text":"a"}`, `{"text":"b"}`, image), "exactly one text item"},
		{"prompt at 2000", user(`{"text":"`+strings.Repeat("湖", 2000)+`"}`, image), ""},
		{"prompt at 2001 is cut, not refused", user(`{"text":"`+strings.Repeat("湖", 2001)+`"}`, image), ""},
		{"text and image in one", user(`{"text":"a","image":"https://a.example/b.png"}`), "text or an image item"},
		{"a video", user(`{"text":"a"}`, image, `{"video":"https://a.example/b.mp4"}`), "text or an image item"},
		{"no item", user(`7`), "text or an image item"},
		{"nothing", user(), "non-empty array"},
		{"a string for content", `{"role":"user","content":"a"}`, "non-empty array"},
		{"an assistant", `{"role":"assistant","content":[{"text":"a"},` + image + `]}`, "role must be user"},
		{"two messages", user(`{"text":"a"}`, image) + "," + user(`{"text":"a"}`, image), "exactly one message"},
		{"no message", "", "exactly one message"},
		{"a broken address", user(`{"text":"a"}`, `{"image":"b.png"}`), "input image 0 must be a public"},
		{"the wrong one is named", user(`{"text":"a"}`, image, `{"image":"b.png"}`), "input image 1"},
	})
}

func TestInputImageRules(t *testing.T) {
	with := func(uri string) string {
		return editMessage(`{"role":"user","content":[{"text":"a"},{"image":"` + uri + `"}]}`)
	}
	padded := func(size int) string {
		return dataURI("image/png", append(pngOf(240, 240, true), make([]byte, size-len(pngOf(240, 240, true)))...))
	}
	judge(t, New(Config{}), imagePath, with, async, []verdict{
		{"smallest", dataURI("image/png", pngOf(240, 240, true)), ""},
		{"too narrow", dataURI("image/png", pngOf(239, 240, true)), "240 to 8000"},
		{"too low", dataURI("image/png", pngOf(240, 239, true)), "240 to 8000"},
		{"largest", dataURI("image/bmp", bmpOf(8000, 8000)), ""},
		{"too wide", dataURI("image/bmp", bmpOf(8001, 8000)), "240 to 8000"},
		{"too high", dataURI("image/bmp", bmpOf(8000, 8001)), "240 to 8000"},
		{"with alpha", dataURI("image/png", pngOf(240, 240, false)), "no alpha"},
		{"ten megabytes", padded(10 << 20), ""},
		{"one byte more", padded(10<<20 + 1), "larger than 10 MB"},
		{"a gif", "data:image/gif;base64,R0lG", "format other than"},
		{"not what it says", dataURI("image/jpeg", pngOf(240, 240, true)), "not an image of its media type"},
		{"broken", "data:image/png;base64,?", "Base64 data URI"},
	})
}

func TestAsyncHeaderIsRequired(t *testing.T) {
	s := New(Config{})
	for _, path := range []string{imagePath, olderPath, olderEditPath} {
		body := edit("")
		if path != imagePath {
			body = older("")
		}
		for _, tt := range []struct {
			header []string
			want   string
		}{
			{nil, "AccessDenied current user api does not support synchronous calls."},
			{[]string{"X-Service-Async", "disable"}, "AccessDenied current user api does not support synchronous calls."},
			{[]string{"X-Service-Async", "enable"}, ""},
			{[]string{"x-service-async", "ENABLE"}, ""},
		} {
			if got := refusalOf(t, s, path, body, tt.header...); got != tt.want {
				t.Errorf("%s with %q said %q, want %q", path, tt.header, got, tt.want)
			}
		}
	}
}

func TestOtherModelsGetFormRulesOnly(t *testing.T) {
	other := func(content string) string {
		return `{"model":"gen2.6-t2i","input":{"messages":[{"role":"user","content":[` + content + `]}]},"parameters":{"size":"64*64"}}`
	}
	judge(t, New(Config{}), imagePath, other, async, []verdict{
		{"no image", `{"text":"a"}`, ""},
		{"no item", ``, "non-empty array"},
	})
}

func TestSynthesisRules(t *testing.T) {
	s := New(Config{})
	judge(t, s, olderPath, older, async, []verdict{
		{"nothing", ``, ""},
		{"n at 1", `"n":1`, ""},
		{"n at 4", `"n":4`, ""},
		{"n at 0", `"n":0`, "n must be"},
		{"n at 5", `"n":5`, "n must be"},
		{"size", `"size":"1024*768"`, ""},
		{"broken size", `"size":"1K"`, "width*height"},
		{"seed", `"seed":-1`, "seed"},
	})
	judge(t, s, olderEditPath, conversed, async, []verdict{
		{"prompt", `{"prompt":"a","images":["https://a.example/b.png"]}`, ""},
		{"no prompt", `{}`, "input.prompt is required"},
		{"prompt no string", `{"prompt":["a"]}`, "input.prompt is required"},
	})
}

func TestSyncImageRules(t *testing.T) {
	s := New(Config{})
	judge(t, s, multimodalPath, draw, nil, []verdict{
		{"nothing", ``, ""},
		{"negative prompt may be empty", `"negative_prompt":""`, ""},
		{"negative prompt no string", `"negative_prompt":7`, "negative_prompt must be a string"},
		{"prompt_extend", `"prompt_extend":false`, ""},
		{"prompt_extend no boolean", `"prompt_extend":"false"`, "prompt_extend must be a boolean"},
		{"watermark no boolean", `"watermark":0`, "watermark must be a boolean"},
		{"size", `"size":"1664*928"`, ""},
		{"size with an x", `"size":"1664x928"`, "width*height"},
		{"size in words", `"size":"2K"`, "width*height"},
		{"n at 1", `"n":1`, ""},
		{"n at 0", `"n":0`, "n must be"},
		{"n at 100", `"n":100`, ""},
		{"n at 101", `"n":101`, "n must be"},
	})
	inside := func(message string) string {
		return `{"model":"llm-image-2.0-pro-2026-06-22","input":{"messages":[` + message + `]}}`
	}
	judge(t, s, multimodalPath, inside, nil, []verdict{
		{"a text", `{"role":"user","content":[{"text":"a"}]}`, ""},
		{"a text and an image", `{"role":"user","content":[{"image":"https://a.example/b.png"},{"text":"a"}]}`, ""},
		{"no text", `{"role":"user","content":[{"image":"https://a.example/b.png"}]}`, "text item"},
		{"empty text", `{"role":"user","content":[{"text":""}]}`, "text item"},
		{"a string", `{"role":"user","content":"a"}`, "non-empty array"},
		{"a system", `{"role":"system","content":[{"text":"a"}]}`, "role must be user"},
		{"two", `{"role":"user","content":[{"text":"a"}]},{"role":"user","content":[{"text":"a"}]}`, "exactly one message"},
	})
	if got := refusalOf(t, s, multimodalPath, draw(""), async...); !strings.Contains(got, "asynchronous calls") {
		t.Errorf("a synchronous image with the async header: %q", got)
	}
}

// dataURI returns the bytes as a data URI.
func dataURI(media string, raw []byte) string {
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(raw)
}

// pngOf encodes a picture; opaque decides its colour type.
func pngOf(w, h int, opaque bool) []byte {
	var img image.Image = image.NewGray(image.Rect(0, 0, w, h))
	if !opaque {
		m := image.NewNRGBA(image.Rect(0, 0, w, h))
		m.Set(0, 0, color.NRGBA{1, 2, 3, 4})
		img = m
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func bmpOf(w, h int32) []byte {
	raw := make([]byte, 54)
	copy(raw, "BM")
	binary.LittleEndian.PutUint32(raw[18:], uint32(w))
	binary.LittleEndian.PutUint32(raw[22:], uint32(h))
	return raw
}
