package simulator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// picturePath is where images are served from, beside the versioned API as
// the real ones are on another host.
const picturePath = "/pictures/"

// address returns the signed address of the i-th image, valid for the TTL
// from made on. All there is to know about an image stands in its address, so
// that none needs to be kept.
func (e easel) address(i int, made time.Time) string {
	path := fmt.Sprintf("%s%s-%d.png", picturePath, e.name, i)
	q := url.Values{
		"w":       {strconv.Itoa(e.size.w)},
		"h":       {strconv.Itoa(e.size.h)},
		"seed":    {strconv.FormatUint(e.seed+uint64(i)*0x9e3779b9, 36)},
		"Expires": {strconv.FormatInt(made.Add(e.s.cfg.TaskTTL).Unix(), 10)},
	}
	if e.watermark {
		q.Set("mark", "1")
	}
	q.Set("Signature", e.s.sign(path, q))
	return e.base + path + "?" + q.Encode()
}

// sign makes the signature over a path and its query. Standard Base64 is
// chosen for its + and /, which a gateway that rewrites addresses spoils.
func (s *Simulator) sign(path string, q url.Values) string {
	mac := hmac.New(sha256.New, s.secret)
	for _, name := range []string{"w", "h", "seed", "mark", "Expires"} {
		path += "\n" + q.Get(name)
	}
	mac.Write([]byte(path))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// readAddress returns the easel of an address, if its signature is right and
// its time not over.
func (s *Simulator) readAddress(path string, q url.Values, now time.Time) (easel, error) {
	expires, _ := strconv.ParseInt(q.Get("Expires"), 10, 64)
	if !hmac.Equal([]byte(q.Get("Signature")), []byte(s.sign(path, q))) || now.Unix() >= expires {
		return easel{}, errPicture
	}
	// The signature is ours, so the rest is as address wrote it.
	w, _ := strconv.Atoi(q.Get("w"))
	h, _ := strconv.Atoi(q.Get("h"))
	seed, _ := strconv.ParseUint(q.Get("seed"), 36, 64)
	name := strings.TrimSuffix(strings.TrimPrefix(path, picturePath), ".png")
	return easel{s: s, name: name, seed: seed, size: size{w, h}, watermark: q.Get("mark") != ""}, nil
}
