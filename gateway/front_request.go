package gateway

import (
	"crypto/sha256"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"

	"sluice/cache"
	"sluice/gateway/openai"
)

// frontRequest is a kind of request of OpenAI's interface.
type frontRequest struct {
	read   func(r *http.Request, s *requestState, models *openai.Models) (*openai.Request, error)
	params func(field string) string                                        // the client's name of a field of the service's request
	chat   bool                                                             // else it asks for images
	digest func(r *http.Request, body io.Reader) ([sha256.Size]byte, error) // of its content, which is read and not kept; nil: of a chat
}

var (
	frontChat = frontRequest{readChat, openai.ChatParam, true, nil}
	frontMake = frontRequest{readGeneration, openai.ImageParam, false, digestOfBody}
	frontEdit = frontRequest{readEdit, openai.ImageParam, false, digestOfForm}
)

func readChat(_ *http.Request, s *requestState, models *openai.Models) (*openai.Request, error) {
	return openai.Chat(s.body, models)
}

func readGeneration(r *http.Request, s *requestState, models *openai.Models) (*openai.Request, error) {
	s.repeats = newRepetition(r, s, sha256.Sum256(s.body))
	return openai.Generation(s.body, models)
}

func readEdit(r *http.Request, s *requestState, models *openai.Models) (*openai.Request, error) {
	parts, err := openai.ReadForm(first(r.Header["Content-Type"]), s.body)
	if err != nil {
		return nil, err
	}
	s.repeats = newRepetition(r, s, openai.Content(parts))
	return openai.Edit(parts, models)
}

func digestOfBody(_ *http.Request, body io.Reader) ([sha256.Size]byte, error) {
	whole := sha256.New()
	_, err := io.Copy(whole, body)
	return [sha256.Size]byte(whole.Sum(nil)), err
}

// digestOfForm reads on behind the form's end: the body is then read whole.
func digestOfForm(r *http.Request, body io.Reader) ([sha256.Size]byte, error) {
	sum, err := openai.Digest(first(r.Header["Content-Type"]), body)
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	return sum, err
}

// repetition is how a request for images and its repetitions recognize each other, with or without an Idempotency-Key. The
// clients' libraries repeat a request after their own timeout and after most errors, and send no key.
type repetition struct {
	path        string            // the client's
	body        [sha256.Size]byte // the digest of its content
	fingerprint [sha256.Size]byte // of key, path and body
	attempt     cache.Attempt     // which the library says that it is
	taken       takenName         // what Join found; nil with an Idempotency-Key, and for a refused attempt
}

// takenName is the name of the request that an attempt has taken among those that are equal, as long as that matters. The zero value
// is none.
type takenName = atomic.Pointer[cache.IdempotencyName]

// retryCount is the header in which a client's library numbers its attempts: "0" for the first.
const retryCount = "X-Stainless-Retry-Count"

func newRepetition(r *http.Request, s *requestState, body [sha256.Size]byte) *repetition {
	count, err := strconv.ParseUint(first(r.Header[retryCount]), 10, 31)
	attempt := cache.Attempt{Number: int(count), Counts: err == nil}
	return &repetition{path: s.route.path, body: body, fingerprint: openai.Fingerprint(s.Key, s.route.path, body), attempt: attempt}
}
