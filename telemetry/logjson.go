package telemetry

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

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
	b = appendText(b, `,"id":`, r.ID)
	b = appendText(b, `,"upstream_id":`, r.UpstreamID)
	b = appendText(b, `,"trace_id":`, r.TraceID)
	b = appendText(b, `,"team":`, r.Team)
	b = appendText(b, `,"key":`, r.Key)
	b = appendText(b, `,"client":`, r.Client)
	b = appendText(b, `,"method":`, r.Method)
	b = appendText(b, `,"route":`, r.Route)
	b = appendText(b, `,"endpoint":`, r.Endpoint)
	b = appendText(b, `,"kind":`, r.Kind)
	b = appendText(b, `,"model":`, r.Model)
	b = appendText(b, `,"task":`, r.Task)
	b = appendNumber(b, `,"status":`, int64(r.Status))
	b = appendText(b, `,"refusal":`, r.Refusal)
	b = appendText(b, `,"cache":`, r.Cache)
	b = appendUsage(b, &r.Usage)
	b = appendCost(b, `,"cost":`, &r.Cost)
	b = appendCost(b, `,"held":`, &r.Held)
	b = appendMilliseconds(b, `,"dur_ms":`, r.Duration)
	b = appendMilliseconds(b, `,"overhead_ms":`, r.Overhead)
	b = appendMilliseconds(b, `,"first_byte_ms":`, r.FirstByte)
	b = appendNumber(b, `,"bytes_in":`, r.BytesIn)
	b = appendNumber(b, `,"bytes_out":`, r.BytesOut)
	b = appendNumber(b, `,"upstream_status":`, int64(r.UpstreamStatus))
	if r.Tags != "" {
		b = appendText(b, `,"tags":`, r.Tags)
	}
	if r.Front != "" {
		b = appendText(b, `,"front":`, r.Front)
	}
	if r.TaskStatus != "" {
		b = appendText(b, `,"task_status":`, r.TaskStatus)
	}
	return append(b, '}', '\n')
}

// appendName writes the comma before a member, unless it is the first, and its name.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendQuoted(b, name), ':')
}

// appendText writes a member. name is written as it is, with its quotes, comma and colon.
func appendText(b []byte, name, value string) []byte {
	return appendQuoted(append(b, name...), value)
}

func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendEscaped writes the few values that need escapes. Invalid UTF-8 becomes U+FFFD; line ends of every kind, JavaScript's
// too, become escapes.
func appendEscaped(b []byte, s string) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

func appendNumber(b []byte, name string, value int64) []byte {
	return strconv.AppendInt(append(b, name...), value, 10)
}

// appendMilliseconds writes a duration in milliseconds, to the microsecond and without trailing zeros.
func appendMilliseconds(b []byte, name string, d time.Duration) []byte {
	micros := d.Microseconds()
	b = append(b, name...)
	if micros < 0 {
		b, micros = append(b, '-'), -micros
	}
	b = strconv.AppendInt(b, micros/1000, 10)
	if rest := micros % 1000; rest > 0 {
		b = append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return b
}

func appendFloat(b []byte, name string, value float64) []byte {
	b = appendName(b, name)
	if whole := int64(value); float64(whole) == value && whole > -1e15 && whole < 1e15 {
		return strconv.AppendInt(b, whole, 10)
	}
	if size := math.Abs(value); size < 1e-6 || size >= 1e21 {
		text, _ := json.Marshal(value) // JSON's form of an exponent; NaN and infinities do not occur
		return append(b, text...)
	}
	return strconv.AppendFloat(b, value, 'f', -1, 64)
}

func appendUsage(b []byte, u *meter.Usage) []byte {
	b = appendName(b, "usage")
	if !u.Known() {
		return append(b, "null"...)
	}
	b = append(b, '{')
	for name, n := range u.All() {
		b = appendFloat(b, name, n)
	}
	return append(b, '}')
}

func appendCost(b []byte, name string, c *Cost) []byte {
	b = append(b, name...)
	if !c.Known {
		return append(b, "null"...)
	}
	b = append(b, '{')
	b = appendNumber(b, `"requests":`, c.Requests)
	b = appendNumber(b, `,"tokens":`, c.Tokens)
	b = appendNumber(b, `,"images":`, c.Images)
	b = appendFloat(b, "spend", float64(c.Spend)/1e9)
	if c.Flag != "" {
		b = appendText(b, `,"flag":`, c.Flag)
	}
	return append(b, '}')
}

// AppendLine appends the record's line in JSON, with its line end, as a [Log] writes it. It shortens overlong texts of the record and
// makes them valid. Time must be set.
func (r *Record) AppendLine(b []byte) []byte {
	r.clean()
	return appendLine(b, r)
}
