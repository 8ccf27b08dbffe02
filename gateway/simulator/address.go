package simulator

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"image/png"
	"io"
	"net/url"
	"strconv"
	"time"
)

// picturePath is where images are served from, beside the versioned API as
// the real ones are on another host.
const picturePath = "/pictures/"

// maxDrawing is how many pictures are drawn at once: each takes up to 64 MiB.
const maxDrawing = 4

// gallery signs the addresses of images and draws what stands in them.
type gallery struct {
	ttl     time.Duration // an address expires after this
	secret  [32]byte
	drawing chan struct{} // a slot per picture drawn at once
}

func newGallery(ttl time.Duration) *gallery {
	g := &gallery{ttl: ttl, drawing: make(chan struct{}, maxDrawing)}
	rand.Read(g.secret[:]) // never fails, see its documentation
	return g
}

// order is what images are made of.
type order struct {
	base   string // root of their addresses
	name   string // distinct per request
	prompt string
	size   size
	// parameters gives seed and watermark.
	parameters object
}

// easel makes the addresses of the images of one request.
type easel struct {
	gallery   *gallery
	base      string
	name      string
	seed      uint64
	size      size
	watermark bool
}

// easel prepares the images of a request. The same prompt and seed give the
// same images; the names differ.
func (g *gallery) easel(o order) easel {
	h := fnv.New64a()
	io.WriteString(h, o.prompt)
	io.WriteString(h, strconv.Itoa(o.parameters.integer("seed", -1)))
	return easel{
		gallery: g, base: o.base, name: o.name, seed: h.Sum64(), size: o.size,
		watermark: o.parameters.flag("watermark"),
	}
}

// address returns the signed address of the i-th image, valid for the
// gallery's TTL from made on. It holds all that drawing the image takes, so no
// image is stored.
func (e easel) address(i int, made time.Time) string {
	path := fmt.Sprintf("%s%s-%d.png", picturePath, e.name, i)
	q := url.Values{
		"w":       {strconv.Itoa(e.size.w)},
		"h":       {strconv.Itoa(e.size.h)},
		"seed":    {strconv.FormatUint(e.seed+uint64(i)*0x9e3779b9, 36)},
		"Expires": {strconv.FormatInt(made.Add(e.gallery.ttl).Unix(), 10)},
	}
	if e.watermark {
		q.Set("mark", "1")
	}
	q.Set("Signature", e.gallery.sign(path, q))
	return e.base + path + "?" + q.Encode()
}

// sign makes the signature of a path and its query. Standard Base64 is chosen
// for its + and /, which a gateway that rewrites addresses spoils.
func (g *gallery) sign(path string, q url.Values) string {
	mac := hmac.New(sha256.New, g.secret[:])
	for _, name := range []string{"w", "h", "seed", "mark", "Expires"} {
		path += "\n" + q.Get(name)
	}
	mac.Write([]byte(path))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// errAddress is an address that is expired or not signed by this gallery.
var errAddress = errors.New("address has expired or its signature does not match")

// draw returns the PNG image at an address. It waits for a free slot until
// ctx ends.
func (g *gallery) draw(ctx context.Context, at *url.URL, now time.Time) ([]byte, error) {
	q := at.Query()
	expires, _ := strconv.ParseInt(q.Get("Expires"), 10, 64)
	if !hmac.Equal([]byte(q.Get("Signature")), []byte(g.sign(at.Path, q))) || now.Unix() >= expires {
		return nil, errAddress
	}
	select {
	case g.drawing <- struct{}{}:
		defer func() { <-g.drawing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// The signature is valid, so address wrote these.
	w, _ := strconv.Atoi(q.Get("w"))
	h, _ := strconv.Atoi(q.Get("h"))
	seed, _ := strconv.ParseUint(q.Get("seed"), 36, 64)
	mark := ""
	if q.Get("mark") != "" {
		mark = "AI Generated"
	}
	var buf bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err := encoder.Encode(&buf, paint(seed, size{w, h}, mark))
	return buf.Bytes(), err
}
