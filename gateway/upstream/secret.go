package upstream

import (
	"fmt"
	"io"
	"log/slog"
)

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
