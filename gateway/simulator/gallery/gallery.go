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
	"image/png"
	"net/url"
	"strconv"
	"time"

	"sluice/gateway/simulator/picture"
)

// Path is where images are served from. It is not under the versioned API, as the real service's are on another host.
const Path = "/pictures/"

// maxDrawing is how many pictures are drawn at once: each takes up to 64 MiB.
const maxDrawing = 4

// Gallery signs the addresses of images, and draws the images.
type Gallery struct {
	ttl     time.Duration
	secret  [32]byte
	drawing chan struct{} // a slot per picture that is being drawn
}

// New returns a gallery. ttl is how long its addresses are valid.
func New(ttl time.Duration) *Gallery {
	g := &Gallery{ttl: ttl, drawing: make(chan struct{}, maxDrawing)}
	rand.Read(g.secret[:]) // never fails, see its documentation
	return g
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
	// The signature is valid, so Address wrote the rest.
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
