package upstream

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
)

// Credential is the service's key, to send, to recognise, and to cover in texts.
type Credential struct {
	authorization Secret            // the Authorization header's value
	digest        [sha256.Size]byte // to recognise the key when a client presents it
	keys          []needle          // the key and the one before it: no answer may contain them
	needles       []needle          // those, and the service's address: no error may contain them
}

// NewCredential takes the key, the service's address, and the credential that the new one replaces; nil: none. Answers to
// requests with the previous key may still arrive, so that key is covered too.
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

// Redact covers the keys and the service's address in an error text, in place. The length stays the same.
func (c *Credential) Redact(text []byte) {
	for i := range c.needles {
		c.needles[i].cover(text)
	}
}

// RedactKeys covers only the keys: a success may name the address.
func (c *Credential) RedactKeys(text []byte) {
	for i := range c.keys {
		c.keys[i].cover(text)
	}
}

// Authorization is the value of the Authorization header. It must go into requests to the service only.
func (c *Credential) Authorization() string { return c.authorization.Reveal() }

// Is reports whether a text is the key. The time it takes reveals nothing about the key.
func (c *Credential) Is(text string) bool {
	digest := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(digest[:], c.digest[:]) == 1
}

// begins returns the length of text without an end that following bytes may complete to a needle.
func (c *Credential) begins(text []byte) int {
	end := len(text)
	for i := range c.needles {
		end = min(end, c.needles[i].begins(text))
	}
	return end
}

// Cover is Redact for a string that is most likely clean.
func (c *Credential) Cover(text string) string { return covered(text, c.needles) }

// CoverHeader redacts the named headers. In Content-Type it covers only the keys: the answer is read by its type, and the
// service's host may be named like a part of one.
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

// Secret is a string that must not be shown: every way of printing, encoding or logging it gives "[redacted]".
// [Secret.Reveal] is the only way to its value, so that a search for that word finds every use.
type Secret string

const redacted = "[redacted]"

// Reveal returns the secret itself. The result must go nowhere but into the header or connection it was meant for.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// GoString implements fmt.GoStringer, so that %#v hides the value also inside a struct.
func (Secret) GoString() string { return redacted }

// Format implements fmt.Formatter, so that no verb (%s, %q, %x, %d) shows the value.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText implements encoding.TextMarshaler; JSON and YAML encoders use it.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON implements json.Marshaler.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
