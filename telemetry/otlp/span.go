package otlp

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxList is how many texts a list in a span has.
const maxList = 16

// Span is a span in the bytes of OTLP. It is written once, at its end, because all that it tells is known then. The reason
// for an encoder of our own is in docs/decisions/otlp-encoder.md.
type Span struct {
	wire    []byte
	most    int // attributes; negative: no bound
	longest int // bytes of a text; negative: no bound
	links   int // negative: no bound
	count   int // attributes so far
	dropped int // attributes that there was no room for
}

func (s *Span) reset(limits *sdktrace.SpanLimits) {
	*s = Span{wire: s.wire[:0], most: limits.AttributeCountLimit, longest: limits.AttributeValueLengthLimit, links: limits.LinkCountLimit}
}

// Head is everything of a span but its attributes.
type Head struct {
	Span    trace.SpanContext // its own id and its trace's; required
	Parent  trace.SpanContext // invalid: the span is the first of its trace
	Link    trace.SpanContext // a span of another trace; invalid: none
	Kind    trace.SpanKind
	Name    string
	Start   time.Time
	End     time.Time
	Failed  bool   // sets the status to error
	Message string // of that status; may be empty
}

func (s *Span) head(h *Head) {
	traceID, id := h.Span.TraceID(), h.Span.SpanID()
	b := bytesField(s.wire, fieldTrace, traceID[:])
	b = bytesField(b, fieldID, id[:])
	if h.Parent.IsValid() {
		parent := h.Parent.SpanID()
		b = bytesField(b, fieldParent, parent[:])
	}
	b = protowire.AppendTag(b, fieldFlags, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, flags(true, h.Parent.IsRemote()))
	b = stringField(b, fieldName, Valid(h.Name))
	b = numberField(b, fieldKind, uint64(h.Kind))
	b = timeField(b, fieldStart, h.Start)
	b = timeField(b, fieldEnd, h.End)
	switch l := h.Link; {
	case !l.IsValid():
	case s.links == 0:
		b = numberField(b, fieldLinksDropped, 1)
	default:
		traceID, id := l.TraceID(), l.SpanID()
		b = open(b, fieldLink, 2+len(traceID)+2+len(id)+1+4)
		b = bytesField(b, fieldTrace, traceID[:])
		b = bytesField(b, fieldID, id[:])
		b = protowire.AppendFixed32(append(b, fieldLinkFlags<<3|byte(protowire.Fixed32Type)), flags(l.IsSampled(), l.IsRemote()))
	}
	if h.Failed {
		message := Valid(h.Message)
		b = open(b, fieldStatus, 1+protowire.SizeBytes(len(message))+2)
		b = stringField(b, fieldStatusText, message)
		b = numberField(b, fieldStatusCode, statusError)
	}
	s.wire = b
}

// end finishes the writing.
func (s *Span) end() {
	if s.dropped > 0 {
		s.wire = numberField(s.wire, fieldAttributesDropped, uint64(s.dropped))
	}
}

// Text adds a text of at most MaxValue bytes, longer ones cut. An empty text means "not known" and is left out.
func (s *Span) Text(key attribute.Key, value string) {
	if value != "" {
		s.Whole(key, Shorten(value, MaxValue))
	}
}

// Whole adds a text of any length. The caller bounds it.
func (s *Span) Whole(key attribute.Key, value string) {
	if s.longest >= 0 {
		value = Shorten(value, s.longest)
	}
	value = Valid(value)
	if s.open(key, 1+protowire.SizeBytes(len(value))) {
		s.wire = stringField(s.wire, fieldText, value)
	}
}

// Texts adds a list of at most 16 texts of at most MaxValue bytes, longer ones cut.
func (s *Span) Texts(key attribute.Key, values []string) {
	var kept [maxList]string
	n, size := 0, 0
	for _, v := range values[:min(len(values), maxList)] {
		v = Shorten(v, MaxValue)
		if s.longest >= 0 {
			v = Shorten(v, s.longest)
		}
		kept[n] = Valid(v)
		size += 1 + protowire.SizeBytes(1+protowire.SizeBytes(len(kept[n])))
		n++
	}
	if !s.open(key, 1+protowire.SizeBytes(size)) {
		return
	}
	b := open(s.wire, fieldArray, size)
	for _, v := range kept[:n] {
		b = stringField(open(b, fieldItem, 1+protowire.SizeBytes(len(v))), fieldText, v)
	}
	s.wire = b
}

// Known adds a number unless it is 0, which means "not known".
func (s *Span) Known(key attribute.Key, value int64) {
	if value != 0 {
		s.Int(key, value)
	}
}

// Int adds a number.
func (s *Span) Int(key attribute.Key, value int64) {
	if s.open(key, 1+protowire.SizeVarint(uint64(value))) {
		s.wire = numberField(s.wire, fieldNumber, uint64(value))
	}
}

// Float adds a number.
func (s *Span) Float(key attribute.Key, value float64) {
	if s.open(key, 1+8) {
		s.wire = protowire.AppendFixed64(append(s.wire, fieldFloat<<3|byte(protowire.Fixed64Type)), math.Float64bits(value))
	}
}

// True adds the value true.
func (s *Span) True(key attribute.Key) {
	if s.open(key, 2) {
		s.wire = numberField(s.wire, fieldBool, 1)
	}
}

// open begins an attribute whose value has size bytes. It returns false if the span has no room for one more.
func (s *Span) open(key attribute.Key, size int) bool {
	if s.most >= 0 && s.count >= s.most {
		s.dropped++
		return false
	}
	s.count++
	b := open(s.wire, fieldAttribute, 1+protowire.SizeBytes(len(key))+1+protowire.SizeBytes(size))
	s.wire = open(stringField(b, fieldKey, string(key)), fieldValue, size)
	return true
}
