package upstream

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
)

// Credential is the service's key in the forms in which it is needed.
type Credential struct {
	authorization Secret            // the Authorization header's value
	digest        [sha256.Size]byte // to recognise the key when a client presents it
	keys          []needle          // the key, and the one before it: what no answer may tell a team
	needles       []needle          // those, and the service's address: what no error may
}

// NewCredential takes the key, and the Credential that it replaces, nil where it is the first: answers to what was sent with
// the key before still come.
func NewCredential(key Secret, base *url.URL, before *Credential) *Credential {
	value := key.Reveal()
	c := &Credential{authorization: Secret("Bearer " + value), digest: sha256.Sum256([]byte(value))}
	c.keys = needlesOf(value)
	if before != nil && len(before.keys) > 0 {
		c.keys = append(c.keys, before.keys[0])
	}
	c.needles = append(c.keys[:len(c.keys):len(c.keys)], needlesOf(base.Host, base.Hostname())...)
	return c
}

// Redact covers the keys and the service's address in an error text, in place and letter for letter, so that it also
// serves inside a stream.
func (c *Credential) Redact(text []byte) {
	for i := range c.needles {
		c.needles[i].cover(text)
	}
}

// RedactKeys covers the keys alone, which may stand in no answer: the address may be a part of what a success says.
func (c *Credential) RedactKeys(text []byte) {
	for i := range c.keys {
		c.keys[i].cover(text)
	}
}

// Authorization is the value of the header by which the service knows the gateway. It must go nowhere but into a request.
func (c *Credential) Authorization() string { return c.authorization.Reveal() }

// Is reports whether a text is the key, in the same time for every text.
func (c *Credential) Is(text string) bool {
	digest := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(digest[:], c.digest[:]) == 1
}

// begins returns the length of text without the beginning of anything to cover at its end, which the bytes that follow
// may complete.
func (c *Credential) begins(text []byte) int {
	end := len(text)
	for i := range c.needles {
		end = min(end, c.needles[i].begins(text))
	}
	return end
}

// Cover is Redact for a text that is most likely clean.
func (c *Credential) Cover(text string) string { return covered(text, c.needles) }

// CoverHeader covers what an answer's header must not say, of the headers named. By its type the answer is read, and
// the service's host may be named like a part of that: there it is the keys alone.
func (c *Credential) CoverHeader(h http.Header, names []string) {
	for _, name := range names {
		if values := h[name]; len(values) > 0 && name == "Content-Type" {
			values[0] = covered(values[0], c.keys)
		} else if len(values) > 0 {
			values[0] = c.Cover(values[0])
		}
	}
}

func covered(text string, needles []needle) string {
	for i := range needles {
		if n := &needles[i]; strings.Contains(text, n.plain) || strings.Contains(text, escape) || n.special && strings.Contains(text, `\`) {
			copied := []byte(text)
			for j := range needles {
				needles[j].cover(copied)
			}
			return string(copied)
		}
	}
	return text
}
