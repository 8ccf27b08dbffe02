package gallery

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"strconv"
	"time"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/picture"
)

// Easel makes the images of one request. All fields but Watermark are required.
type Easel struct {
	Gallery   *Gallery
	Base      string // root of the images' addresses
	Name      string // distinct per request
	Seed      uint64 // see Seed
	Size      picture.Size
	Watermark bool
}

// Seed is the seed of the images of a request. The same prompt and seed give the same images.
func Seed(prompt string, seed int) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, prompt, seed)
	return h.Sum64()
}

// Address returns the signed address of the i-th image, valid for the gallery's TTL from made on.
func (e Easel) Address(i int, made time.Time) string {
	path := fmt.Sprintf("%s%s-%d.png", Path, e.Name, i)
	q := url.Values{
		"w":       {strconv.Itoa(e.Size.W)},
		"h":       {strconv.Itoa(e.Size.H)},
		"seed":    {strconv.FormatUint(e.Seed+uint64(i)*0x9e3779b9, 36)},
		"Expires": {strconv.FormatInt(made.Add(e.Gallery.ttl).Unix(), 10)},
	}
	if e.Watermark {
		q.Set("mark", "1")
	}
	q.Set("Signature", e.Gallery.sign(path, q))
	return e.Base + path + "?" + q.Encode()
}

// imageUsage is the usage of a synchronous image answer.
type imageUsage struct {
	Width  int `json:"width"`
	Height int `json:"height"`
	Count  int `json:"image_count"`
}

// Answer is a synchronous answer with n images.
func (e Easel) Answer(n int, requestID string, now time.Time) *answer.Reply {
	var out answer.Output
	for i := range n {
		out.Choices = append(out.Choices, answer.ImageChoice(answer.Part{Image: e.Address(i, now)}))
	}
	usage := imageUsage{Width: e.Size.W, Height: e.Size.H, Count: n}
	return &answer.Reply{Output: out, Usage: usage, RequestID: requestID}
}
