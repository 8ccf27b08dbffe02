package gateway

import (
	"bytes"
	"crypto/sha256"
	"net/url"
	"strings"
)

// credential is the service's key in the forms in which it is needed.
type credential struct {
	authorization Secret            // the Authorization header's value
	digest        [sha256.Size]byte // to recognise the key when a client presents it
	needles       []string          // what must not stand in anything the service says to a team
}

func newCredential(key Secret, base *url.URL) *credential {
	value := key.Reveal()
	c := &credential{authorization: Secret("Bearer " + value), digest: sha256.Sum256([]byte(value))}
	for _, needle := range []string{value, base.Host, base.Hostname()} {
		if len(needle) > 3 { // a shorter one would tear words apart and hides nothing
			c.needles = append(c.needles, needle)
		}
	}
	return c
}

// redact covers the key and the service's address in an error text, in place and letter for letter, so that it also
// serves inside a stream.
func (c *credential) redact(text []byte) {
	for _, needle := range c.needles {
		for rest := text; ; {
			i := bytes.Index(rest, []byte(needle))
			if i < 0 {
				break
			}
			copy(rest[i:], bytes.Repeat([]byte("*"), len(needle)))
			rest = rest[i+len(needle):]
		}
	}
}

// Cover is redact for a text that is most likely clean.
func (c *credential) Cover(text string) string {
	for _, needle := range c.needles {
		if strings.Contains(text, needle) {
			covered := []byte(text)
			c.redact(covered)
			return string(covered)
		}
	}
	return text
}
