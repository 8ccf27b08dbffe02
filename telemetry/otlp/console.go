package otlp

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// console writes spans for people, one line of JSON each. It is what OTEL_TRACES_EXPORTER=console asks for.
type console struct{ out io.Writer }

// Start implements otlptrace.Client, like the methods below.
func (console) Start(context.Context) error { return nil }

// Stop has nothing to do.
func (console) Stop(context.Context) error { return nil }

// UploadTraces writes a line for each span.
func (c console) UploadTraces(_ context.Context, sent []*tracepb.ResourceSpans) error {
	lines := json.NewEncoder(c.out)
	for _, s := range Decode(sent) {
		attributes := make(map[string]any, len(s.GetAttributes()))
		for _, a := range s.GetAttributes() {
			attributes[a.GetKey()] = plain(a.GetValue())
		}
		links := make([]string, 0, len(s.GetLinks()))
		for _, l := range s.GetLinks() {
			links = append(links, hex.EncodeToString(l.GetTraceId())+"-"+hex.EncodeToString(l.GetSpanId()))
		}
		if err := lines.Encode(map[string]any{
			"span": s.GetName(), "trace_id": hex.EncodeToString(s.GetTraceId()), "span_id": hex.EncodeToString(s.GetSpanId()),
			"parent_id": hex.EncodeToString(s.GetParentSpanId()), "kind": s.GetKind().String(), "links": links, "attributes": attributes,
			"start": moment(s.GetStartTimeUnixNano()), "end": moment(s.GetEndTimeUnixNano()), "error": s.GetStatus().GetMessage(),
		}); err != nil {
			return err
		}
	}
	return nil
}

func moment(ns uint64) time.Time { return time.Unix(0, int64(ns)).UTC() }

func plain(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_ArrayValue:
		list := make([]any, 0, len(v.ArrayValue.GetValues()))
		for _, item := range v.ArrayValue.GetValues() {
			list = append(list, plain(item))
		}
		return list
	}
	return nil
}

// Decode returns the spans of a batch, as a collector reads them. A batch carries them as bytes: a client that is not one of
// the library's has no other way to them.
func Decode(sent []*tracepb.ResourceSpans) (spans []*tracepb.Span) {
	for _, r := range sent {
		read := new(tracepb.ResourceSpans)
		wire, err := proto.Marshal(r)
		if err != nil || proto.Unmarshal(wire, read) != nil {
			continue // it never fails: this process wrote it
		}
		for _, s := range read.GetScopeSpans() {
			spans = append(spans, s.GetSpans()...)
		}
	}
	return spans
}
