package upstream

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

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
