package simulator

import (
	"crypto/sha256"
	"fmt"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/simulator/picture"
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
	r := newRig(t, Config{})
	body := `{"model":"MODEL","input":{"messages":[{"role":"user","content":[{"text":"A lake"}]}]}}`
	for _, tt := range []struct {
		model  string
		header []string
		want   string
	}{
		{"llm-image", nil, "image"}, {"llm-image-2.0-pro-2026-06-22", sse, "image"}, {"gen2.6-t2i", nil, "image"},
		{"gen2.6-image", sse, "interleaved"}, {"gen2.6-image", nil, "chat"}, {"llm-vision", nil, "chat"},
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

// addressOf draws synchronously and returns the image's address.
func (r *rig) addressOf(parameters string) string {
	r.t.Helper()
	o := r.post(multimodalPath, draw(parameters)).object(r.t)
	address, _ := at(o, "output", "choices", 0, "message", "content", 0, "image").(string)
	if address == "" {
		r.t.Fatalf("no image in %v", o)
	}
	return address
}

// fetch gets an address without a key.
func (r *rig) fetch(address string) got {
	r.t.Helper()
	return r.do("GET", strings.TrimPrefix(address, r.server.URL), "", "Authorization", "")
}

func TestPicture(t *testing.T) {
	r := newRig(t, Config{})
	for _, text := range []string{"640*480", "16*16", "1*1", "1024*768"} {
		want, _ := picture.ParseSize(text)
		g := r.fetch(r.addressOf(`"size":"` + text + `"`))
		if g.status != 200 || g.header.Get("Content-Type") != "image/png" {
			t.Fatalf("%s: %d %s", text, g.status, g.header.Get("Content-Type"))
		}
		img, err := png.Decode(strings.NewReader(g.body))
		if err != nil {
			t.Fatal(err)
		}
		if b := img.Bounds(); (picture.Size{W: b.Dx(), H: b.Dy()}) != want {
			t.Errorf("%s: drawn as %v", text, b)
		}
	}
}

func TestPicturesDifferBySeedAndPrompt(t *testing.T) {
	r := newRig(t, Config{})
	sum := func(body string) string {
		o := r.post(multimodalPath, body).object(t)
		address, _ := at(o, "output", "choices", 0, "message", "content", 0, "image").(string)
		return fmt.Sprintf("%x", sha256.Sum256([]byte(r.fetch(address).body)))
	}
	first := sum(draw(`"size":"64*64","seed":1`))
	if sum(draw(`"size":"64*64","seed":1`)) != first {
		t.Error("the same request is drawn differently")
	}
	for name, body := range map[string]string{
		"seed":      draw(`"size":"64*64","seed":2`),
		"prompt":    strings.Replace(draw(`"size":"64*64","seed":1`), "quiet", "wild", 1),
		"watermark": draw(`"size":"64*64","seed":1,"watermark":true`),
	} {
		if sum(body) == first {
			t.Errorf("another %s is drawn alike", name)
		}
	}
}

func TestAddressExpires(t *testing.T) {
	r := newRig(t, Config{})
	address := r.addressOf(`"size":"16*16"`)
	r.clock.Advance(24*time.Hour - time.Second)
	if g := r.fetch(address); g.status != 200 {
		t.Errorf("a second before the end: %d", g.status)
	}
	r.clock.Advance(time.Second)
	r.fetch(address).want(t, 403, "AccessDenied")
}

func TestAddressIsSigned(t *testing.T) {
	r := newRig(t, Config{})
	address := r.addressOf(`"size":"16*16"`)
	for _, change := range [][2]string{
		{"w=16", "w=17"}, {"h=16", "h=4096"}, {"seed=", "seed=1"}, {"Expires=1", "Expires=2"},
		{"Signature=", "Signature=A"}, {"-0.png", "-1.png"}, {"w=16", "w=16&mark=1"},
	} {
		other := strings.Replace(address, change[0], change[1], 1)
		if other == address {
			t.Fatalf("%s is not in %s", change[0], address)
		}
		r.fetch(other).want(t, 403, "AccessDenied")
	}
	r.fetch(r.server.URL+"/pictures/a-0.png").want(t, 403, "AccessDenied")
}

func TestAddressOfAnotherService(t *testing.T) {
	a, b := newRig(t, Config{}), newRig(t, Config{})
	address := a.addressOf(`"size":"16*16"`)
	b.do("GET", strings.TrimPrefix(address, a.server.URL), "").want(t, 403, "AccessDenied")
}

func TestBaseURL(t *testing.T) {
	r := newRig(t, Config{BaseURL: "https://pictures.example:8443/"})
	if a := r.addressOf(""); !strings.HasPrefix(a, "https://pictures.example:8443/pictures/") {
		t.Errorf("address is %s", a)
	}
	r = newRig(t, Config{})
	if a := r.addressOf(""); !strings.HasPrefix(a, r.server.URL+"/pictures/") {
		t.Errorf("address is %s", a)
	}
}

func TestPictureHead(t *testing.T) {
	r := newRig(t, Config{})
	path := strings.TrimPrefix(r.addressOf(`"size":"16*16"`), r.server.URL)
	if g := r.do(http.MethodHead, path, ""); g.status != 200 || g.body != "" || g.header.Get("Content-Length") == "0" {
		t.Errorf("HEAD: %d, length %s", g.status, g.header.Get("Content-Length"))
	}
	r.do(http.MethodPost, path, "").want(t, 405, "InvalidParameter")
	if v := r.Violations(); len(v) != 0 {
		t.Errorf("a picture needs no key, yet: %q", v)
	}
}
