package simulator

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"image/png"
	"net/url"
	"strconv"
	"time"

	"sluice/gateway/simulator/billing"
	"sluice/gateway/simulator/picture"
)

// maxDrawing bounds the pictures that are drawn concurrently: each takes up to 64 MiB.
const maxDrawing = 4

// lifetime is how long tasks and the addresses of pictures are valid.
const lifetime = 24 * time.Hour

// pictures signs the addresses of pictures, and draws them. No picture is stored: its address has everything that drawing needs.
type pictures struct {
	secret  [32]byte
	drawing chan struct{} // a semaphore
}

func newPictures() *pictures {
	p := &pictures{drawing: make(chan struct{}, maxDrawing)}
	rand.Read(p.secret[:]) // never fails, see its documentation
	return p
}

// series are the pictures of one request.
type series struct {
	*pictures
	base string // root of their addresses
	name string // unique to the request
	seed uint64 // the same prompt and seed give the same pictures
	size picture.Size
	mark bool // with a watermark
}

// series prepares the pictures of a call.
func (p *pictures) series(c *call, name, prompt string, size picture.Size) series {
	base := c.cfg.BaseURL
	if base == "" {
		base = "http://" + c.r.Host
		if c.r.TLS != nil {
			base = "https://" + c.r.Host
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, prompt, integer(c.param, "seed", -1))
	return series{p, base, name, h.Sum64(), size, get[bool](c.param, "watermark")}
}

// cost returns the cost of n pictures.
func (s series) cost(n int) billing.Work {
	return billing.Work{Images: n, Pixels: s.size.W * s.size.H}
}

// address returns the signed address of the i-th picture, valid for its lifetime from made on.
func (s series) address(i int, made time.Time) string {
	path := fmt.Sprintf("%s%s-%d.png", picturePath, s.name, i)
	q := url.Values{
		"w":       {strconv.Itoa(s.size.W)},
		"h":       {strconv.Itoa(s.size.H)},
		"seed":    {strconv.FormatUint(s.seed+uint64(i)*0x9e3779b9, 36)},
		"Expires": {strconv.FormatInt(made.Add(lifetime).Unix(), 10)},
	}
	if s.mark {
		q.Set("mark", "1")
	}
	q.Set("Signature", s.sign(path, q))
	return s.base + path + "?" + q.Encode()
}

// sign signs a path and its query. The signature is in standard Base64 because of its + and /, which a gateway that rewrites addresses
// would spoil.
func (p *pictures) sign(path string, q url.Values) string {
	mac := hmac.New(sha256.New, p.secret[:])
	for _, name := range []string{"w", "h", "seed", "mark", "Expires"} {
		path += "\n" + q.Get(name)
	}
	mac.Write([]byte(path))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// draw draws the picture at an address. It waits for a free slot until ctx ends.
func (p *pictures) draw(ctx context.Context, at *url.URL, now time.Time) (*answer, error) {
	q := at.Query()
	expires, _ := strconv.ParseInt(q.Get("Expires"), 10, 64)
	if !hmac.Equal([]byte(q.Get("Signature")), []byte(p.sign(at.Path, q))) || now.Unix() >= expires {
		return nil, errPicture
	}
	select {
	case p.drawing <- struct{}{}:
		defer func() { <-p.drawing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// The signature is valid, so address wrote the rest.
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
	return &answer{png: buf.Bytes()}, err
}
