package simulator

import (
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
		want, _ := parseSize(text)
		g := r.fetch(r.addressOf(`"size":"` + text + `"`))
		if g.status != 200 || g.header.Get("Content-Type") != "image/png" {
			t.Fatalf("%s: %d %s", text, g.status, g.header.Get("Content-Type"))
		}
		img, err := png.Decode(strings.NewReader(g.body))
		if err != nil {
			t.Fatal(err)
		}
		if b := img.Bounds(); (size{b.Dx(), b.Dy()}) != want {
			t.Errorf("%s: drawn as %v", text, b)
		}
	}
}

func TestPictureIsBounded(t *testing.T) {
	if b := paint(0, size{99999, 99999}, "").Bounds(); b.Dx() > maxDrawnSide || b.Dx()*b.Dy() > maxDrawnPixels {
		t.Errorf("drawn as %v", b)
	}
	for _, sz := range []size{{99999, 1}, {1, 99999}, {1, 1}} {
		if b := paint(0, sz, "").Bounds(); b.Empty() {
			t.Errorf("%v is drawn as %v", sz, b)
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

func TestPictureIsWorthLookingAt(t *testing.T) {
	colours := map[color.Color]bool{}
	img := paint(7, size{200, 200}, "")
	for y := range 200 {
		for x := range 200 {
			colours[img.At(x, y)] = true
		}
	}
	if len(colours) < 100 {
		t.Errorf("only %d colours", len(colours))
	}
}

func TestStamp(t *testing.T) {
	for _, side := range []int{1, 10, 320, 1280} {
		img := image.NewRGBA(image.Rect(0, 0, side, side))
		stamp(img, "AI Generated")
		white, outside := 0, 0
		for y := range side {
			for x := range side {
				if img.RGBAAt(x, y).R == 255 {
					white++
					if side >= 320 && (x < side/2 || y < side*9/10) {
						outside++
					}
				}
			}
		}
		if side >= 320 && white == 0 || outside > 0 {
			t.Errorf("side %d: %d white pixels, %d of them not in the bottom right corner", side, white, outside)
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

func BenchmarkPicture(b *testing.B) {
	for _, sz := range []size{{1024, 1024}, {2048, 2048}} {
		b.Run(sz.String(), func(b *testing.B) {
			for b.Loop() {
				paint(1, sz, "")
			}
		})
	}
}
