package telemetry

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"sluice/policy/unit"
	"sluice/telemetry/meter"
)

// appendLine writes a Record's line exactly as slog's JSONHandler does, which a test checks. It exists for its cost: slog hands
// every float and every null to encoding/json, which made the line the most expensive step of a request.
func appendLine(b []byte, r *Record) []byte {
	b = append(b, `{"time":"`...)
	b = r.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":"`...)
	b = append(b, r.level().String()...)
	b = append(b, `","msg":"request"`...)
	return append(appendMembers(b, r), '}', '\n')
}

func appendMembers(b []byte, r *Record) []byte {
	for i := range members {
		if m := &members[i]; m.shown(r) {
			b = m.append(append(b, m.prefix...), r)
		}
	}
	return b
}

// appendName writes the comma before a member, unless it is the first, and its name.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendQuoted(b, name), ':')
}

// appendQuoted writes a text. Of the few that need escapes, invalid UTF-8 becomes U+FFFD; line ends of every kind, JavaScript's too,
// become escapes.
func appendQuoted(b []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// isPlain reports whether a text is ASCII without quotes, backslashes and control characters, as nearly every text of a line is. JSON
// need not escape it. Eight bytes are looked at together.
func isPlain(s string) bool {
	if len(s) < 8 {
		return isShortPlain(s)
	}
	hit := special(s[len(s)-8:])
	for ; len(s) > 8; s = s[8:] {
		hit |= special(s)
	}
	return hit&0x8080808080808080 == 0
}

func isShortPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// special sets a high bit if one of the first eight bytes is not plain: a subtraction that borrows sets high bits only above such a byte.
func special(s string) uint64 {
	const ones = 0x0101010101010101
	w := binary.LittleEndian.Uint64([]byte(s[:8]))
	return ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones) | (w - ones*' ') | w
}

// inMilliseconds is a duration in milliseconds, to the microsecond.
func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// appendFloat writes a number. Whole numbers, the usual case, are written fast.
func appendFloat(b []byte, value float64) []byte {
	if whole := int64(value); float64(whole) == value && whole > -1e15 && whole < 1e15 {
		return strconv.AppendInt(b, whole, 10)
	}
	if size := math.Abs(value); size < 1e-6 || size >= 1e21 {
		text, _ := json.Marshal(value) // JSON's form of an exponent; NaN and infinities do not occur
		return append(b, text...)
	}
	return strconv.AppendFloat(b, value, 'f', -1, 64)
}

func appendList(b []byte, texts []string) []byte {
	b = append(b, '[')
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, text)
	}
	return append(b, ']')
}

func appendUsage(b []byte, u *meter.Usage) []byte {
	if !u.Known() {
		return append(b, "null"...)
	}
	b = append(b, '{')
	for name, n := range u.All() {
		b = appendFloat(appendName(b, name), n)
	}
	return append(b, '}')
}

func appendCost(b []byte, c *Cost) []byte {
	if !c.Known {
		return append(b, "null"...)
	}
	b = append(b, '{')
	for i, name := range unit.Names {
		b = appendAmount(appendName(b, string(name)), c.Money, name, c.Amounts[i])
	}
	if c.Flag != "" {
		b = appendQuoted(appendName(b, "flag"), c.Flag)
	}
	return append(b, '}')
}

// appendAmount writes an amount of a unit, money in the currency.
func appendAmount(b []byte, m unit.Money, of unit.Name, n int64) []byte {
	if m.Behind(of) > 0 {
		return appendFloat(b, m.InWhole(of, n))
	}
	return strconv.AppendInt(b, n, 10)
}

// AppendLine appends the record's line in JSON, with its line end, as a [Log] writes it. It shortens overlong texts of the record and
// makes them valid. Time must be set.
func (r *Record) AppendLine(b []byte) []byte {
	r.clean()
	return appendLine(b, r)
}
