package telemetry

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"sluice/policy/unit"
	"sluice/telemetry/meter"
)

// level is WARN for failures that Sluice caused: the operator should look into them. The service's own 5xx, also inside an answer, and
// refusals of a team's requests are INFO.
func (r *Record) level() slog.Level {
	if r.Status >= 500 && (r.Refusal != "" || r.UpstreamStatus != r.Status && r.UpstreamError != r.Status) {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// clean shortens every text and makes it valid UTF-8. Clients and the service choose some of the texts, and a collector refuses a
// whole batch for one invalid text.
func (r *Record) clean() {
	for i := range members {
		if m := &members[i]; m.text != nil {
			cleanText(m.text(r), m.limitBytes())
		}
	}
	l := &r.Limit
	for _, text := range [...]*string{&r.Scheme, &r.Label, &r.Cost.Flag, &r.Held.Flag, &l.Name, &l.Scope, &l.Of, &l.Unit, &l.Per} {
		cleanText(text, maxValue)
	}
}

// limitBytes bounds the member's text.
func (m *member) limitBytes() int {
	if m.long {
		return maxReason
	}
	return maxValue
}

func cleanText(text *string, limit int) {
	if len(*text) > limit || !isPlain(*text) {
		*text = valid(shortenTo(*text, limit))
	}
}

// line returns the Record as a slog record, for LOG_FORMAT=text and for collectors; appendLine writes the JSON form.
func (r *Record) line() slog.Record {
	record := slog.NewRecord(r.Time.UTC(), r.level(), "request", 0)
	for i := range members {
		if m := &members[i]; m.shown(r) {
			record.AddAttrs(m.attr(r))
		}
	}
	return record
}

func (m *member) attr(r *Record) slog.Attr {
	switch {
	case m.text != nil:
		return slog.String(m.name, *m.text(r))
	case m.number != nil:
		return slog.Int64(m.name, m.number(r))
	case m.duration != nil:
		return slog.Float64(m.name, inMilliseconds(m.duration(r)))
	case m.cost != nil:
		return m.cost(r).attr(m.name)
	case m.list != nil:
		return slog.Any(m.name, m.list(r))
	case m.limit != nil:
		return m.limit(r).attr(m.name)
	}
	return usageAttr(&r.Usage)
}

func usageAttr(u *meter.Usage) slog.Attr {
	if !u.Known() {
		return slog.Any("usage", nil)
	}
	var amounts []slog.Attr
	for name, n := range u.All() {
		amounts = append(amounts, slog.Float64(name, n))
	}
	return slog.GroupAttrs("usage", amounts...)
}

func (c *Cost) attr(name string) slog.Attr {
	if !c.Known {
		return slog.Any(name, nil)
	}
	var amounts []slog.Attr
	for i, of := range unit.Names {
		amounts = append(amounts, amountAttr(string(of), c.Money, of, c.Amounts[i]))
	}
	if c.Flag != "" {
		amounts = append(amounts, slog.String("flag", c.Flag))
	}
	return slog.GroupAttrs(name, amounts...)
}

// amountAttr returns an amount of a unit, money in the currency.
func amountAttr(name string, m unit.Money, of unit.Name, n int64) slog.Attr {
	if m.Decimals(of) > 0 {
		return slog.Float64(name, m.InWhole(of, n))
	}
	return slog.Int64(name, n)
}

// Log writes the line of a task that was settled at that moment. Like a request's line it always has all members.
func (t *Task) Log(logger *slog.Logger, at time.Time) {
	creation, handler := readTraceparent(t.Creation), logger.Handler()
	ctx := trace.ContextWithSpanContext(context.Background(), creation)
	if !handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	record := slog.NewRecord(at.UTC(), slog.LevelInfo, "task", 0)
	traceID := ""
	if creation.IsValid() {
		traceID = creation.TraceID().String()
	}
	attrs := []slog.Attr{
		slog.String("id", t.Request),
		slog.String("trace_id", traceID),
		slog.String("team", t.Team),
		slog.String("key", t.Key),
		slog.String("model", shorten(t.Model)),
		slog.String("task", shorten(t.ID)),
		slog.String("outcome", t.Outcome),
		usageAttr(&t.Usage),
		t.Cost.attr("cost"),
		t.Held.attr("held"),
		slog.String("submit_time", t.Submitted.UTC().Format(time.RFC3339Nano)),
		slog.String("end_time", t.Ended.UTC().Format(time.RFC3339Nano)),
		slog.Float64("queue_ms", inMilliseconds(t.waited())),
		slog.Float64("run_ms", inMilliseconds(t.ran())),
		slog.Int64("polls_served", t.Served),
		slog.Int64("polls_sent", t.Sent),
		slog.String("settled_by", t.SettledBy),
	}
	if t.Account != "" {
		attrs = append(attrs, slog.String("account", t.Account))
	}
	record.AddAttrs(attrs...)
	_ = handler.Handle(ctx, record) // slog ignores this error, too
}

// appendLine writes a Record's line exactly as slog's JSONHandler would; a test compares them. It exists for speed: slog passes every
// float and null to encoding/json, which made the line the most expensive step of a request.
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

// appendQuoted writes a text as a JSON string. Invalid UTF-8 becomes U+FFFD; line ends of every kind, also JavaScript's, become
// escapes.
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

// isPlain reports whether a text is ASCII without quotes, backslashes and control characters, which JSON need not escape. Nearly every
// text is. It examines eight bytes at a time.
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

// special sets a high bit if one of the first eight bytes is not plain. A borrow can set further high bits, but only above such a byte.
func special(s string) uint64 {
	const ones = 0x0101010101010101
	w := binary.LittleEndian.Uint64([]byte(s[:8]))
	return ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones) | (w - ones*' ') | w
}

// inMilliseconds returns a duration in milliseconds, to the microsecond.
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
		b = appendName(b, string(name))
		if n := c.Amounts[i]; unit.Table[i].Money && n != 0 {
			b = appendFloat(b, c.Money.InWhole(name, n))
		} else {
			b = strconv.AppendInt(b, n, 10)
		}
	}
	if c.Flag != "" {
		b = appendQuoted(appendName(b, "flag"), c.Flag)
	}
	return append(b, '}')
}

// appendAmount writes an amount of a unit, money in the currency.
func appendAmount(b []byte, m unit.Money, of unit.Name, n int64) []byte {
	if m.Decimals(of) > 0 {
		return appendFloat(b, m.InWhole(of, n))
	}
	return strconv.AppendInt(b, n, 10)
}

// AppendLine appends the record's line in JSON, with its line end, as a [Log] writes it. It shortens the record's texts and makes them
// valid UTF-8. Time must be set.
func (r *Record) AppendLine(b []byte) []byte {
	r.clean()
	return appendLine(b, r)
}
