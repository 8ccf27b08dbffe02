package otlp

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"
)

// theSDKs is the span that the SDK would have sent.
func theSDKs(t *rapid.T, h *Head, attributes []attribute.KeyValue) *tracepb.Span {
	k := new(keeping)
	exporter := otlptrace.NewUnstarted(k)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithIDGenerator(fixedIDs{h.Span}), sdktrace.WithResource(resource.Empty()))
	ctx := context.Background()
	if h.Parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, h.Parent)
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(h.Start), trace.WithSpanKind(h.Kind)}
	if h.Link.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: h.Link}))
	}
	_, span := provider.Tracer("").Start(ctx, h.Name, options...)
	span.SetAttributes(attributes...)
	if h.Failed {
		span.SetStatus(codes.Error, h.Message)
	}
	span.End(trace.WithTimestamp(h.End))
	if len(k.spans) != 1 {
		t.Fatalf("the SDK sent %d spans", len(k.spans))
	}
	return k.spans[0]
}

type fixedIDs struct{ span trace.SpanContext }

func (f fixedIDs) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	return f.span.TraceID(), f.span.SpanID()
}
func (f fixedIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return f.span.SpanID() }

// The encoding of a span equals that of the SDK and its exporter, whatever the span has.
func TestSpanWriterIsTheSDKs(t *testing.T) {
	id := func(name string) *rapid.Generator[trace.SpanContextConfig] {
		return rapid.Custom(func(t *rapid.T) (c trace.SpanContextConfig) {
			copy(c.TraceID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, name))
			copy(c.SpanID[:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, name))
			c.TraceID[0] |= 1
			c.SpanID[0] |= 1
			c.TraceFlags = trace.FlagsSampled
			return c
		})
	}
	moments := rapid.Custom(func(t *rapid.T) time.Time { return time.Unix(0, rapid.Int64Range(1, math.MaxInt64/2).Draw(t, "ns")) })
	rapid.Check(t, func(t *rapid.T) {
		span := id("span").Draw(t, "span")
		h := Head{
			Span: trace.NewSpanContext(span), Kind: rapid.SampledFrom([]trace.SpanKind{trace.SpanKindInternal, trace.SpanKindServer, trace.SpanKindClient}).Draw(t, "kind"),
			Name: rapid.StringN(0, 80, 300).Draw(t, "name"), Start: moments.Draw(t, "begun"), End: moments.Draw(t, "ended"),
		}
		if rapid.Bool().Draw(t, "has a parent") {
			parent := id("parent").Draw(t, "parent")
			parent.TraceID, parent.Remote = span.TraceID, rapid.Bool().Draw(t, "remote")
			h.Parent = trace.NewSpanContext(parent)
		}
		if rapid.Bool().Draw(t, "has a link") {
			link := id("link").Draw(t, "link")
			link.TraceFlags, link.Remote = trace.TraceFlags(0).WithSampled(rapid.Bool().Draw(t, "sampled")), rapid.Bool().Draw(t, "remote")
			h.Link = trace.NewSpanContext(link)
		}
		if h.Failed = rapid.Bool().Draw(t, "fails"); h.Failed {
			h.Message = rapid.StringN(0, 20, 200).Draw(t, "why")
		}
		w := Span{most: -1, longest: -1, links: -1}
		w.head(&h)
		var attributes []attribute.KeyValue
		for i := range rapid.IntRange(0, 20).Draw(t, "attributes") {
			key := attribute.Key(fmt.Sprint(rapid.StringMatching(`[a-z.]{1,120}`).Draw(t, "key"), i))
			switch rapid.IntRange(0, 4).Draw(t, "type") {
			case 0:
				value := rapid.String().Draw(t, "text")
				w.Whole(key, value)
				attributes = append(attributes, key.String(value))
			case 1:
				value := rapid.Int64().Draw(t, "number")
				w.Int(key, value)
				attributes = append(attributes, key.Int64(value))
			case 2:
				value := rapid.Float64().Draw(t, "float")
				w.Float(key, value)
				attributes = append(attributes, key.Float64(value))
			case 3:
				w.True(key)
				attributes = append(attributes, key.Bool(true))
			case 4:
				value := rapid.SliceOfN(rapid.StringN(0, 100, 400), 1, 9).Draw(t, "list")
				w.Texts(key, value)
				attributes = append(attributes, key.StringSlice(value))
			}
		}
		w.end()
		got := new(tracepb.Span)
		if err := proto.Unmarshal(w.wire, got); err != nil {
			t.Fatal(err)
		}
		if len(got.ProtoReflect().GetUnknown()) > 0 {
			t.Errorf("OTLP does not know %x", got.ProtoReflect().GetUnknown())
		}
		if diff := cmp.Diff(theSDKs(t, &h, attributes), got, protocmp.Transform(), protocmp.IgnoreEmptyMessages()); diff != "" {
			t.Error(diff)
		}
	})
}

var someSpan = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})

// Invalid UTF-8 is replaced: a collector would refuse the whole batch.
func TestSpansAreUTF8(t *testing.T) {
	bad := "a\xffb\xc3"
	w := Span{most: -1, longest: -1, links: -1}
	w.head(&Head{Span: someSpan, Name: bad, Failed: true, Message: bad})
	w.Text("text", bad)
	w.Texts("list", []string{bad, "good", bad})
	w.end()
	s := new(tracepb.Span)
	if err := proto.Unmarshal(w.wire, s); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{s.GetName(), s.GetStatus().GetMessage(), s.GetAttributes()[0].GetValue().GetStringValue(), s.GetAttributes()[1].GetValue().GetArrayValue().GetValues()[2].GetStringValue()} {
		if text != "a\uFFFDb\uFFFD" || !utf8.ValidString(text) {
			t.Errorf("it is %q", text)
		}
	}
}

// Whatever bytes a client or the service chose, the encoding is a valid span.
func FuzzSpanWriter(f *testing.F) {
	f.Add("model", "key", []byte("answer"))
	f.Add("\xff\xfe", strings.Repeat("ü", 200), bytes.Repeat([]byte("x"), 300))
	f.Fuzz(func(t *testing.T, model, code string, other []byte) {
		w := Span{most: 100, longest: -1}
		w.head(&Head{Span: someSpan, Name: model, Failed: true, Message: code})
		w.Text("model", model)
		w.Text("code", code)
		w.Texts("list", []string{model, code, string(other)})
		w.end()
		s := new(tracepb.Span)
		if err := proto.Unmarshal(w.wire, s); err != nil {
			t.Fatal(err)
		}
		if len(s.ProtoReflect().GetUnknown()) > 0 {
			t.Errorf("OTLP does not know %x", s.ProtoReflect().GetUnknown())
		}
	})
}
