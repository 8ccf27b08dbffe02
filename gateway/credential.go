package gateway

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
)

// credential is the service's key in the forms in which it is needed.
type credential struct {
	authorization Secret            // the Authorization header's value
	digest        [sha256.Size]byte // to recognise the key when a client presents it
	keys          []needle          // the key, and the one before it: what no answer may tell a team
	needles       []needle          // those, and the service's address: what no error may
}

// newCredential takes the key, and the credential that it replaces, nil where it is the first: answers to what was sent with
// the key before still come.
func newCredential(key Secret, base *url.URL, before *credential) *credential {
	value := key.Reveal()
	c := &credential{authorization: Secret("Bearer " + value), digest: sha256.Sum256([]byte(value))}
	c.keys = needlesOf(value)
	if before != nil && len(before.keys) > 0 {
		c.keys = append(c.keys, before.keys[0])
	}
	c.needles = append(c.keys[:len(c.keys):len(c.keys)], needlesOf(base.Host, base.Hostname())...)
	return c
}

// redact covers the keys and the service's address in an error text, in place and letter for letter, so that it also
// serves inside a stream.
func (c *credential) redact(text []byte) {
	for i := range c.needles {
		c.needles[i].cover(text)
	}
}

// redactKeys covers the keys alone, which may stand in no answer: the address may be a part of what a success says.
func (c *credential) redactKeys(text []byte) {
	for i := range c.keys {
		c.keys[i].cover(text)
	}
}

// begins returns the length of text without the beginning of anything to cover at its end, which the bytes that follow
// may complete.
func (c *credential) begins(text []byte) int {
	end := len(text)
	for i := range c.needles {
		end = min(end, c.needles[i].begins(text))
	}
	return end
}

// Cover is redact for a text that is most likely clean.
func (c *credential) Cover(text string) string { return covered(text, c.needles) }

// coverHeader covers what an answer's header must not say, of what of it a team may see. By its type the answer is read, and
// the service's host may be named like a part of that: there it is the keys alone.
func (c *credential) coverHeader(h http.Header) {
	for _, name := range inboundNames {
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
