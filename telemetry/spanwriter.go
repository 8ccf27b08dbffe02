package telemetry

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxList is how many texts of a list stand in a span.
const maxList = 16

// spanWriter writes one span, as OTLP has it in protobuf. The SDK keeps a span as objects until a batch of them is turned
// into the protocol's objects and those into bytes, which costs more than all else that a request costs; here nothing of
// a span is known before its end, so it is written once, then, and kept as bytes.
type spanWriter struct {
	wire    []byte
	most    int // attributes; negative: any number
	longest int // bytes of a value; negative: any number
	links   int // negative: any number
	count   int
	cut     int // attributes for which there was no room
}

func (w *spanWriter) reset(limits *sdktrace.SpanLimits) {
	*w = spanWriter{wire: w.wire[:0], most: limits.AttributeCountLimit, longest: limits.AttributeValueLengthLimit, links: limits.LinkCountLimit}
}

// head is what a span has beside attributes.
type head struct {
	span, parent Span // no parent: the span begins its trace
	remote       bool // the parent is another process's
	link         link // none where its span is none
	kind         uint64
	name         string
	begun, ended time.Time
	fault        bool   // the span's status is error
	why          string // with that
}

// link is a span of another trace.
type link struct {
	Span
	sampled, remote bool
}

func (w *spanWriter) head(h *head) {
	b := w.wire
	b = bytesField(b, fieldTrace, h.span.trace[:])
	b = bytesField(b, fieldID, h.span.id[:])
	if h.parent.Recording() {
		b = bytesField(b, fieldParent, h.parent.id[:])
	}
	b = protowire.AppendTag(b, fieldFlags, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, flags(true, h.remote))
	b = stringField(b, fieldName, valid(h.name))
	b = numberField(b, fieldKind, h.kind)
	b = timeField(b, fieldBegun, h.begun)
	b = timeField(b, fieldEnded, h.ended)
	switch l := &h.link; {
	case !l.Recording():
	case w.links == 0:
		b = numberField(b, fieldLinksCut, 1)
	default:
		b = open(b, fieldLink, 2+len(l.trace)+2+len(l.id)+1+4)
		b = bytesField(b, fieldTrace, l.trace[:])
		b = bytesField(b, fieldID, l.id[:])
		b = protowire.AppendFixed32(append(b, fieldLinkFlags<<3|byte(protowire.Fixed32Type)), flags(l.sampled, l.remote))
	}
	if h.fault {
		why := valid(h.why)
		b = open(b, fieldStatus, 1+protowire.SizeBytes(len(why))+2)
		b = stringField(b, fieldStatusText, why)
		b = numberField(b, fieldStatusCode, statusError)
	}
	w.wire = b
}

// end completes the span.
func (w *spanWriter) end() {
	if w.cut > 0 {
		w.wire = numberField(w.wire, fieldCut, uint64(w.cut))
	}
}

// text adds an attribute, cut short where it is long. An empty one is not known.
func (w *spanWriter) text(key attribute.Key, value string) {
	if value != "" {
		w.whole(key, shorten(value, maxValue))
	}
}

// whole adds a text that was cut to its measure before.
func (w *spanWriter) whole(key attribute.Key, value string) {
	if w.longest >= 0 {
		value = shorten(value, w.longest)
	}
	value = valid(value)
	if w.open(key, 1+protowire.SizeBytes(len(value))) {
		w.wire = stringField(w.wire, fieldText, value)
	}
}

// covered is a text of the service's without what nobody may read in it. It is covered before it is cut, so that no part
// of a secret is left.
func covered(value string, secrets Secrets) string {
	if secrets == nil {
		return value
	}
	return secrets.Cover(value)
}

// texts adds a list of at most maxList texts, cut short like others.
func (w *spanWriter) texts(key attribute.Key, values []string, secrets Secrets) {
	var kept [maxList]string
	n, size := 0, 0
	for _, v := range values[:min(len(values), maxList)] {
		v = shorten(covered(v, secrets), maxValue)
		if w.longest >= 0 {
			v = shorten(v, w.longest)
		}
		kept[n] = valid(v)
		size += 1 + protowire.SizeBytes(1+protowire.SizeBytes(len(kept[n])))
		n++
	}
	if !w.open(key, 1+protowire.SizeBytes(size)) {
		return
	}
	b := open(w.wire, fieldArray, size)
	for _, v := range kept[:n] {
		b = stringField(open(b, fieldItem, 1+protowire.SizeBytes(len(v))), fieldText, v)
	}
	w.wire = b
}

// known adds a number unless it is 0, which stands for not known.
func (w *spanWriter) known(key attribute.Key, value int64) {
	if value != 0 {
		w.number(key, value)
	}
}

func (w *spanWriter) number(key attribute.Key, value int64) {
	if w.open(key, 1+protowire.SizeVarint(uint64(value))) {
		w.wire = numberField(w.wire, fieldNumber, uint64(value))
	}
}

func (w *spanWriter) float(key attribute.Key, value float64) {
	if w.open(key, 1+8) {
		w.wire = protowire.AppendFixed64(append(w.wire, fieldFloat<<3|byte(protowire.Fixed64Type)), math.Float64bits(value))
	}
}

// yes adds an attribute that is true.
func (w *spanWriter) yes(key attribute.Key) {
	if w.open(key, 2) {
		w.wire = numberField(w.wire, fieldBool, 1)
	}
}

// open begins an attribute whose value has that many bytes, and reports whether there is room for one more.
func (w *spanWriter) open(key attribute.Key, size int) bool {
	if w.most >= 0 && w.count >= w.most {
		w.cut++
		return false
	}
	w.count++
	b := open(w.wire, fieldAttribute, 1+protowire.SizeBytes(len(key))+1+protowire.SizeBytes(size))
	w.wire = open(stringField(b, fieldKey, string(key)), fieldValue, size)
	return true
}
