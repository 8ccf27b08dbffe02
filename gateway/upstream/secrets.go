package upstream

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Secrets are what must not reach a client, the log or a span: the keys of all accounts at the service, and its addresses.
type Secrets struct {
	now, before hidden
	keys        []needle // no answer may contain them
	needles     []needle // the keys and the addresses: no error may contain them
}

// hidden are the texts of secrets.
type hidden struct{ keys, hosts []string }

// NewSecrets takes the keys and the addresses of all accounts, and the secrets that the new ones replace; nil: none. Answers to
// requests with a replaced key may still arrive, so keys and addresses that were replaced lately are also covered.
func NewSecrets(keys []Secret, bases []*url.URL, before *Secrets) *Secrets {
	s := new(Secrets)
	for _, key := range keys {
		s.now.keys = add(s.now.keys, key.Reveal())
	}
	for _, base := range bases {
		s.now.hosts = add(s.now.hosts, base.Host, base.Hostname())
	}
	if before != nil {
		s.before = before.now.and(before.before).without(s.now)
	}
	s.keys = needlesOf(slices.Concat(s.now.keys, s.before.keys)...)
	s.needles = append(s.keys[:len(s.keys):len(s.keys)], needlesOf(slices.Concat(s.now.hosts, s.before.hosts)...)...)
	return s
}

func add(list []string, texts ...string) []string {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// mostReplaced is how many of the keys, and of the addresses, that were replaced last are covered.
const mostReplaced = 64

// and returns these texts followed by those of before, without the oldest if there are too many.
func (h hidden) and(before hidden) (all hidden) {
	all.keys, all.hosts = add(slices.Clone(h.keys), before.keys...), add(slices.Clone(h.hosts), before.hosts...)
	all.keys, all.hosts = all.keys[:min(len(all.keys), mostReplaced)], all.hosts[:min(len(all.hosts), mostReplaced)]
	return all
}

func (h hidden) without(other hidden) (rest hidden) {
	rest.keys = slices.DeleteFunc(slices.Clone(h.keys), func(key string) bool { return slices.Contains(other.keys, key) })
	rest.hosts = slices.DeleteFunc(slices.Clone(h.hosts), func(host string) bool { return slices.Contains(other.hosts, host) })
	return rest
}

// Redact covers the keys and the addresses in an error text, in place. The length stays the same.
func (s *Secrets) Redact(text []byte) {
	for i := range s.needles {
		s.needles[i].cover(text)
	}
}

// RedactKeys covers only the keys: a success may name an address.
func (s *Secrets) RedactKeys(text []byte) {
	for i := range s.keys {
		s.keys[i].cover(text)
	}
}

// begins returns the length of text without an end that the next bytes may complete to a needle.
func (s *Secrets) begins(text []byte) int {
	end := len(text)
	for i := range s.needles {
		end = min(end, s.needles[i].begins(text))
	}
	return end
}

// Cover is Redact for a string that is most likely clean.
func (s *Secrets) Cover(text string) string { return covered(text, s.needles) }

// CoverHeader redacts the named headers. In Content-Type it covers only the keys: the answer is read by its type, and the
// service's host may be named like a part of one.
func (s *Secrets) CoverHeader(h http.Header, names []string) {
	for _, name := range names {
		if values := h[name]; len(values) > 0 && name == "Content-Type" {
			values[0] = covered(values[0], s.keys)
		} else if len(values) > 0 {
			values[0] = s.Cover(values[0])
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

// Credential is the key of an account at the service, to send and to recognise.
type Credential struct {
	authorization Secret            // the Authorization header's value
	digest        [sha256.Size]byte // to recognise the key when a client presents it
}

// NewCredential takes the key.
func NewCredential(key Secret) *Credential {
	return &Credential{authorization: Secret("Bearer " + key.Reveal()), digest: sha256.Sum256([]byte(key.Reveal()))}
}

// Authorization is the value of the Authorization header. It must go into requests to the service only.
func (c *Credential) Authorization() string { return c.authorization.Reveal() }

// Is reports whether a text is the key. The time it takes reveals nothing about the key.
func (c *Credential) Is(text string) bool {
	digest := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(digest[:], c.digest[:]) == 1
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
