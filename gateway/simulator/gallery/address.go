// Package gallery answers requests for images, whole or interleaved with text.
//
// No image is stored: a signed address holds all that drawing it takes.
package gallery

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

	"sluice/gateway/simulator/picture"
	"sluice/gateway/simulator/request"
)

// Path is where images are served from, beside the versioned API as the real ones are on another host.
const Path = "/pictures/"

// maxDrawing is how many pictures are drawn at once: each takes up to 64 MiB.
const maxDrawing = 4

// Gallery signs the addresses of images and draws what stands in them.
type Gallery struct {
	ttl     time.Duration // an address expires after this
	secret  [32]byte
	drawing chan struct{} // a slot per picture drawn at once
}

func New(ttl time.Duration) *Gallery {
	g := &Gallery{ttl: ttl, drawing: make(chan struct{}, maxDrawing)}
	rand.Read(g.secret[:]) // never fails, see its documentation
	return g
}

// Order is what images are made of.
type Order struct {
	Base   string // root of their addresses
	Name   string // distinct per request
	Prompt string
	Size   picture.Size
	// parameters gives seed and watermark.
	Parameters request.Object
}

// Easel makes the addresses of the images of one request.
type Easel struct {
	gallery   *Gallery
	base      string
	Name      string
	seed      uint64
	Size      picture.Size
	watermark bool
}

// Easel prepares the images of a request. The same prompt and seed give the same images; the names differ.
func (g *Gallery) Easel(o Order) Easel {
	h := fnv.New64a()
	io.WriteString(h, o.Prompt)
	io.WriteString(h, strconv.Itoa(o.Parameters.Integer("seed", -1)))
	return Easel{
		gallery: g, base: o.Base, Name: o.Name, seed: h.Sum64(), Size: o.Size,
		watermark: o.Parameters.Flag("watermark"),
	}
}

// Address returns the signed address of the i-th image, valid for the gallery's TTL from made on. It holds all that
// drawing the image takes, so no image is stored.
func (e Easel) Address(i int, made time.Time) string {
	path := fmt.Sprintf("%s%s-%d.png", Path, e.Name, i)
	q := url.Values{
		"w":       {strconv.Itoa(e.Size.W)},
		"h":       {strconv.Itoa(e.Size.H)},
		"seed":    {strconv.FormatUint(e.seed+uint64(i)*0x9e3779b9, 36)},
		"Expires": {strconv.FormatInt(made.Add(e.gallery.ttl).Unix(), 10)},
	}
	if e.watermark {
		q.Set("mark", "1")
	}
	q.Set("Signature", e.gallery.sign(path, q))
	return e.base + path + "?" + q.Encode()
}

// sign makes the signature of a path and its query. Standard Base64 is chosen for its + and /, which a gateway that
// rewrites addresses spoils.
func (g *Gallery) sign(path string, q url.Values) string {
	mac := hmac.New(sha256.New, g.secret[:])
	for _, name := range []string{"w", "h", "seed", "mark", "Expires"} {
		path += "\n" + q.Get(name)
	}
	mac.Write([]byte(path))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// errAddress is an address that is expired or not signed by this gallery.
var errAddress = errors.New("address has expired or its signature does not match")

// Draw returns the PNG image at an address. It waits for a free slot until ctx ends.
func (g *Gallery) Draw(ctx context.Context, at *url.URL, now time.Time) ([]byte, error) {
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
	err := encoder.Encode(&buf, picture.Paint(seed, picture.Size{W: w, H: h}, mark))
	return buf.Bytes(), err
}
