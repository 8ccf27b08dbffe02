package openai

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

func TestGenerationRefusals(t *testing.T) {
	for _, c := range []struct{ story, members, param string }{
		{"a fine picture", `"quality":"hd"`, "quality"},
		{"a style", `"style":"natural"`, "style"},
		{"a background", `"background":"transparent"`, "background"},
		{"less moderation", `"moderation":"low"`, "moderation"},
		{"another format", `"output_format":"webp"`, "output_format"},
		{"compression", `"output_compression":50`, "output_compression"},
		{"a stream", `"stream":true`, "stream"},
		{"pieces of pictures", `"partial_images":2`, "partial_images"},
		{"a mask", `"mask":"a"`, "mask"},
		{"a film", `"frame_count":9`, "frame_count"},
		{"a form of answers", `"response_format":"png"`, "response_format"},
		{"a size that is no word", `"size":1024`, "size"},
		{"input", `"input":{}`, "input"},
		{"a member twice", `"n":1,"n":2`, "n"},
	} {
		t.Run(c.story, func(t *testing.T) {
			_, err := Generation([]byte(`{"model":"gen2.6-image","prompt":"A lake",`+c.members+`}`), dialecttest.Models)
			wantParam(t, err, c.param)
		})
	}
	for body, param := range map[string]string{
		`{"prompt":"A lake"}`: "model", `{"model":"gen2.6-image"}`: "prompt", `{"model":"gen2.6-image","prompt":["A lake"]}`: "prompt", `[]`: "",
	} {
		_, err := Generation([]byte(body), dialecttest.Models)
		wantParam(t, err, param)
	}
}

func wantParam(t *testing.T, err error, param string) {
	t.Helper()
	refusal, ok := errors.AsType[*conversation.Refusal](err)
	if !ok || refusal.Status != 400 || refusal.Param != param {
		t.Errorf("%v; want a refusal of %q", err, param)
	}
}

func TestSizes(t *testing.T) {
	for given, want := range map[string]string{
		"1024x1024": "1024*1024", "1x1": "1*1", "1024*1024": "1024*1024", "1K": "1K", "x": "x", "1024x": "1024x", "x1024": "x1024",
		"1x2x3": "1x2x3", "10 x 10": "10 x 10", "": "",
	} {
		if got := string(nativeSize([]byte(given))); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n\x00")
	parts := []Part{
		{Name: "model", Data: []byte("gen2.6-image")}, {Name: "prompt", Data: []byte("3")},
		{Name: "image[]", File: "a.jpg", MediaType: "image/jpeg", Data: png},
		{Name: "image[]", File: "b", MediaType: "image/x-odd", Data: []byte("?")}, {Name: "n", Data: []byte("2")},
		{Name: "size", Data: []byte("1280x720")},
		{Name: "watermark", Data: []byte("false")}, {Name: "negative_prompt", Data: []byte("0")}, {Name: "seed", Data: nil},
		{Name: "tone", Data: []byte("1e")},
		{Name: "user", Data: []byte("u")}, {Name: "response_format", Data: []byte("b64_json")}, {Name: "input_fidelity", Data: []byte("low")},
	}
	got := dialecttest.Shown(Edit(parts, dialecttest.Models))
	want := `services/aigc/image-generation/generation gen2.6-image async base64
{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"image":"data:image/png;base64,iVBORw0KGgoA"},{"image":"data:image/x-odd;base64,Pw=="},{"text":"3"}]}]},"parameters":{"n":2,"size":"1280*720","watermark":false,"negative_prompt":"0","tone":"1e"}}
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	dialecttest.MustBeJSON(t, []byte(strings.SplitN(got, "\n", 2)[1]))
}

func TestEditRefusals(t *testing.T) {
	base := []Part{{Name: "model", Data: []byte("gen2.6-image")}, {Name: "prompt", Data: []byte("A lake")}}
	image := Part{Name: "image", File: "a.png", Data: []byte("a")}
	for _, c := range []struct {
		story string
		parts []Part
		param string
	}{
		{"no picture", nil, "image"},
		{"five pictures", []Part{image, image, image, image, image}, "image"},
		{"a mask", []Part{image, {Name: "mask", File: "m.png", Data: []byte("a")}}, "mask"},
		{"a file that is no picture", []Part{image, {Name: "markup", File: "m.svg", Data: []byte("a")}}, "markup"},
		{"a prompt twice", []Part{image, {Name: "prompt", Data: []byte("b")}}, "prompt"},
		{"another format", []Part{image, {Name: "output_format", Data: []byte("jpeg")}}, "output_format"},
	} {
		t.Run(c.story, func(t *testing.T) {
			_, err := Edit(append(base[:2:2], c.parts...), dialecttest.Models)
			wantParam(t, err, c.param)
		})
	}
	_, err := Edit([]Part{image, {Name: "model", Data: []byte("gen2.6-image")}}, dialecttest.Models)
	wantParam(t, err, "prompt")
}

func TestImageTypes(t *testing.T) {
	for _, c := range []struct{ data, declared, want string }{
		{"\x89PNG\r\n\x1a\nIHDR", "image/jpeg", "image/png"}, {"\xff\xd8\xff\xe0", "", "image/jpeg"},
		{"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/png", "image/webp"},
		{"BM6", "application/octet-stream", "image/bmp"}, {"?", "IMAGE/HEIC", "image/heic"}, {"?", `image/"`, "application/octet-stream"},
		{"?", "image/", "application/octet-stream"}, {"", "text/plain", "application/octet-stream"},
	} {
		if got := (&Part{Data: []byte(c.data), MediaType: c.declared}).imageType(); got != c.want {
			t.Errorf("%q declared as %q: %q, want %q", c.data, c.declared, got, c.want)
		}
	}
}

// A client that repeats a request makes a new boundary, and nothing else.
func TestFingerprints(t *testing.T) {
	parts := []Part{{Name: "prompt", Data: []byte("A lake")}, {Name: "image", File: "a.png", MediaType: "image/png", Data: []byte("abc")}}
	seen := map[[32]byte]string{Content(parts): "the request"}
	for story, other := range map[string][]Part{
		"another order":  {parts[1], parts[0]},
		"a part less":    parts[:1],
		"another prompt": {{Name: "prompt", Data: []byte("A lake.")}, parts[1]},
		"another file":   {parts[0], {Name: "image", File: "b.png", MediaType: "image/png", Data: []byte("abc")}},
		"another name":   {{Name: "promqt", Data: []byte("A lake")}, parts[1]},
		"bytes moved between": {{Name: "prompt", Data: []byte("A lak")},
			{Name: "eimage", File: "a.png", MediaType: "image/png", Data: []byte("abc")}},
		"none": nil,
	} {
		digest := Content(other)
		if same, ok := seen[digest]; ok {
			t.Errorf("%s has the digest of %s", story, same)
		}
		seen[digest] = story
	}
	if Content(parts) != Content([]Part{parts[0], parts[1]}) {
		t.Error("equal content has two digests")
	}
	body := Content(parts)
	whole := Fingerprint("team", "/v1/images/edits", body)
	for _, other := range [][2]string{{"team2", "/v1/images/edits"}, {"team", "/v1/images/generations"}, {"team/v1", "/images/edits"}} {
		if Fingerprint(other[0], other[1], body) == whole {
			t.Errorf("%s has the same fingerprint", fmt.Sprint(other))
		}
	}
	if Fingerprint("team", "/v1/images/edits", Content(nil)) == whole {
		t.Error("another body has the same fingerprint")
	}
}

// A text is refused before it is written as JSON, by characters where it is a prompt; one that is just short enough passes.
func TestLongTextsOfImages(t *testing.T) {
	for _, c := range []struct {
		name, one string
		most      int
	}{{"prompt", "é", 32_000}, {"negative_prompt", `\u0001`, 32_000}, {"model", "a", 256}, {"size", `\"`, 256}, {"user", `\ud83d\ude00`, 64},
		{"quality", "x", 0}, {"tone", "a", 4096}} {
		for more, want := range []string{"", c.name} {
			text := strings.Repeat(c.one, c.most+more)
			if c.name == "quality" {
				text = strings.Repeat(c.one, 257)
			}
			members := map[string]string{"model": "gen2.6-image", "prompt": "A lake"}
			members[c.name] = text
			body := "{"
			for name, value := range members {
				body += fmt.Sprintf(`%s"%s":"%s"`, map[bool]string{true: ",", false: ""}[len(body) > 1], name, value)
			}
			_, err := Generation([]byte(body+"}"), dialecttest.Models)
			if want == "" && c.name != "quality" && err != nil {
				t.Errorf("%s of %d: %v", c.name, c.most, err)
			} else if want != "" {
				wantParam(t, err, want)
			}
		}
	}
	image := Part{Name: "image", File: "a.png", Data: []byte("a")}
	for name, most := range map[string]int{"prompt": 32_000, "size": 256, "tone": 4096} {
		parts := []Part{image, {Name: "model", Data: []byte("gen2.6-image")}, {Name: name, Data: []byte(strings.Repeat("\xff", most+1))}}
		_, err := Edit(parts, dialecttest.Models)
		wantParam(t, err, name)
	}
}

// What the service's request takes is asked for before it is made.
func TestRequestsWithoutRoom(t *testing.T) {
	var asked int64
	full := &conversation.Models{Room: func(n int64) bool { asked += n; return false }}
	body := `{"model":"m","prompt":"` + strings.Repeat("x", 9000) + `"}`
	if _, err := Generation([]byte(body), full); !errors.Is(err, conversation.ErrNoRoom) || asked < 9000 {
		t.Errorf("%v after %d bytes", err, asked)
	}
	if _, err := Edit([]Part{{Name: "prompt", Data: []byte("x")}}, full); !errors.Is(err, conversation.ErrNoRoom) {
		t.Error(err)
	}
}

// TestImagesAreCopiedOnce: the memory that a translation takes is that of its result.
func TestImagesAreCopiedOnce(t *testing.T) {
	const size = 8 << 20
	file := make([]byte, size)
	for name, translate := range map[string]func() (*conversation.Request, error){
		"Edit": func() (*conversation.Request, error) {
			return Edit([]Part{{Name: "model", Data: []byte("m")}, {Name: "prompt", Data: []byte("p")}, {Name: "image", File: "a", Data: file}},
				dialecttest.Models)
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := translate()
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > uint64(len(r.Body)+64<<10) {
			t.Errorf("%s: %d bytes for a result of %d", name, taken, len(r.Body))
		}
	}
}
