package otlp

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxList is how many texts of a list stand in a span.
const maxList = 16

// Span writes one span, as OTLP has it in protobuf. The SDK keeps a span as objects until a batch of them is turned
// into the protocol's objects and those into bytes, which costs more than all else that a request costs; here nothing of
// a span is known before its end, so it is written once, then, and kept as bytes.
type Span struct {
	wire    []byte
	most    int // attributes; negative: any number
	longest int // bytes of a value; negative: any number
	links   int // negative: any number
	count   int
	cut     int // attributes for which there was no room
}

func (s *Span) reset(limits *sdktrace.SpanLimits) {
	*s = Span{wire: s.wire[:0], most: limits.AttributeCountLimit, longest: limits.AttributeValueLengthLimit, links: limits.LinkCountLimit}
}

// Head is what a span has beside attributes.
type Head struct {
	Span    trace.SpanContext
	Parent  trace.SpanContext // invalid: the span begins its trace
	Link    trace.SpanContext // a span of another trace; invalid: none
	Kind    trace.SpanKind
	Name    string
	Start   time.Time
	End     time.Time
	Failed  bool   // the span's status is error
	Message string // with that status; may be empty
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
	b = timeField(b, fieldBegun, h.Start)
	b = timeField(b, fieldEnded, h.End)
	switch l := h.Link; {
	case !l.IsValid():
	case s.links == 0:
		b = numberField(b, fieldLinksCut, 1)
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

// end completes the span.
func (s *Span) end() {
	if s.cut > 0 {
		s.wire = numberField(s.wire, fieldCut, uint64(s.cut))
	}
}

// Text adds an attribute, cut short where it is long. An empty one is not known.
func (s *Span) Text(key attribute.Key, value string) {
	if value != "" {
		s.Whole(key, Shorten(value, MaxValue))
	}
}

// Whole adds a text that was cut to its measure before.
func (s *Span) Whole(key attribute.Key, value string) {
	if s.longest >= 0 {
		value = Shorten(value, s.longest)
	}
	value = Valid(value)
	if s.open(key, 1+protowire.SizeBytes(len(value))) {
		s.wire = stringField(s.wire, fieldText, value)
	}
}

// Texts adds a list of at most maxList texts, cut short like others.
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

// Known adds a number unless it is 0, which stands for not known.
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

// True adds an attribute that is true.
func (s *Span) True(key attribute.Key) {
	if s.open(key, 2) {
		s.wire = numberField(s.wire, fieldBool, 1)
	}
}

// open begins an attribute whose value has that many bytes, and reports whether there is room for one more.
func (s *Span) open(key attribute.Key, size int) bool {
	if s.most >= 0 && s.count >= s.most {
		s.cut++
		return false
	}
	s.count++
	b := open(s.wire, fieldAttribute, 1+protowire.SizeBytes(len(key))+1+protowire.SizeBytes(size))
	s.wire = open(stringField(b, fieldKey, string(key)), fieldValue, size)
	return true
}
