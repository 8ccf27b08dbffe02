package telemetry

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

	"sluice/telemetry/meter"
)

// theSDKs is the span that the SDK would have sent.
func theSDKs(t *rapid.T, h *head, attributes []attribute.KeyValue) *tracepb.Span {
	k := new(keeping)
	exporter := otlptrace.NewUnstarted(k)
	ids := fixedIDs{h.span}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithIDGenerator(ids), sdktrace.WithResource(resource.Empty()))
	ctx := context.Background()
	if h.parent.Recording() {
		ctx = trace.ContextWithSpanContext(ctx, h.parent.context().WithRemote(h.remote))
	}
	kinds := map[uint64]trace.SpanKind{kindInternal: trace.SpanKindInternal, kindServer: trace.SpanKindServer, kindClient: trace.SpanKindClient}
	options := []trace.SpanStartOption{trace.WithTimestamp(h.begun), trace.WithSpanKind(kinds[h.kind])}
	if h.link.Recording() {
		to := trace.SpanContextConfig{TraceID: h.link.trace, SpanID: h.link.id, Remote: h.link.remote}
		if h.link.sampled {
			to.TraceFlags = trace.FlagsSampled
		}
		options = append(options, trace.WithLinks(trace.Link{SpanContext: trace.NewSpanContext(to)}))
	}
	_, span := provider.Tracer("").Start(ctx, h.name, options...)
	span.SetAttributes(attributes...)
	if h.fault {
		span.SetStatus(codes.Error, h.why)
	}
	span.End(trace.WithTimestamp(h.ended))
	if len(k.spans) != 1 {
		t.Fatalf("the SDK sent %d spans", len(k.spans))
	}
	return k.spans[0]
}

type fixedIDs struct{ Span }

func (f fixedIDs) NewIDs(context.Context) (trace.TraceID, trace.SpanID)  { return f.trace, f.id }
func (f fixedIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return f.id }

// What is written of a span is what the SDK and its exporter write of it, whatever it has.
func TestSpanWriterIsTheSDKs(t *testing.T) {
	id := func(name string) *rapid.Generator[Span] {
		return rapid.Custom(func(t *rapid.T) (s Span) {
			copy(s.trace[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, name))
			copy(s.id[:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, name))
			s.trace[0] |= 1
			s.id[0] |= 1
			return s
		})
	}
	moments := rapid.Custom(func(t *rapid.T) time.Time { return time.Unix(0, rapid.Int64Range(1, math.MaxInt64/2).Draw(t, "ns")) })
	rapid.Check(t, func(t *rapid.T) {
		h := head{
			span: id("span").Draw(t, "span"), kind: rapid.SampledFrom([]uint64{kindInternal, kindServer, kindClient}).Draw(t, "kind"),
			name: rapid.StringN(0, 80, 300).Draw(t, "name"), begun: moments.Draw(t, "begun"), ended: moments.Draw(t, "ended"),
		}
		if rapid.Bool().Draw(t, "has a parent") {
			h.parent = id("parent").Draw(t, "parent")
			h.parent.trace, h.remote = h.span.trace, rapid.Bool().Draw(t, "remote")
		}
		if rapid.Bool().Draw(t, "has a link") {
			h.link = link{id("link").Draw(t, "link"), rapid.Bool().Draw(t, "sampled"), rapid.Bool().Draw(t, "remote")}
		}
		if h.fault = rapid.Bool().Draw(t, "fails"); h.fault {
			h.why = rapid.StringN(0, 20, 200).Draw(t, "why")
		}
		w := spanWriter{most: -1, longest: -1, links: -1}
		w.head(&h)
		var attributes []attribute.KeyValue
		for i := range rapid.IntRange(0, 20).Draw(t, "attributes") {
			key := attribute.Key(fmt.Sprint(rapid.StringMatching(`[a-z.]{1,120}`).Draw(t, "key"), i))
			switch rapid.IntRange(0, 4).Draw(t, "type") {
			case 0:
				value := rapid.String().Draw(t, "text")
				w.whole(key, value)
				attributes = append(attributes, key.String(value))
			case 1:
				value := rapid.Int64().Draw(t, "number")
				w.number(key, value)
				attributes = append(attributes, key.Int64(value))
			case 2:
				value := rapid.Float64().Draw(t, "float")
				w.float(key, value)
				attributes = append(attributes, key.Float64(value))
			case 3:
				w.yes(key)
				attributes = append(attributes, key.Bool(true))
			case 4:
				value := rapid.SliceOfN(rapid.StringN(0, 100, 400), 1, 9).Draw(t, "list")
				w.texts(key, value, nil)
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

// What is no UTF-8 is made so: a collector would refuse the whole batch.
func TestSpansAreUTF8(t *testing.T) {
	bad := "a\xffb\xc3"
	w := spanWriter{most: -1, longest: -1, links: -1}
	w.head(&head{span: Span{trace.TraceID{1}, trace.SpanID{1}}, name: bad, fault: true, why: bad})
	w.text("text", bad)
	w.texts("list", []string{bad, "good", bad}, nil)
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

// The SDK's variables bound what a span has.
func TestSpanLimits(t *testing.T) {
	t.Setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3")
	t.Setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "10")
	t.Setenv("OTEL_SPAN_LINK_COUNT_LIMIT", "0")
	spans := spansOf(t, Config{}, func(tells *Telemetry) {
		r := Record{Time: time.Now(), Method: "GET", Route: "/" + strings.Repeat("r", 100), Scheme: "http", Team: "t", Status: 200}
		tells.Traces.Arrive(&r, map[string][]string{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}})
		tells.Traces.Leave(&r)
		var x Exchange
		x.Begin(tells.Traces, nil, About{Operation: OperationNone, Alone: true, Parameters: &Parameters{Stop: []string{strings.Repeat("s", 100)}}}, time.Now())
		x.End(Ended{}, time.Now())
	})
	s := spans[0]
	if len(s.GetLinks()) != 0 || s.GetDroppedLinksCount() != 1 {
		t.Errorf("%d links, %d are told to be left out", len(s.GetLinks()), s.GetDroppedLinksCount())
	}
	if list := fmt.Sprint(plain(spans[1].GetAttributes()[0].GetValue())); list != "[ssssssssss]" {
		t.Errorf("a list is %s", list)
	}
	if n := len(s.GetAttributes()); n != 3 || s.GetDroppedAttributesCount() != 3 {
		t.Errorf("%d attributes, %d are told to be left out", n, s.GetDroppedAttributesCount())
	}
	if route := s.GetAttributes()[1].GetValue().GetStringValue(); route != "/rrrrrrrrr" {
		t.Errorf("the route is %q", route)
	}
}

// Whatever bytes a client or the service chose, what is written is a span.
func FuzzSpanWriter(f *testing.F) {
	f.Add("model", "key", []byte("answer"))
	f.Add("\xff\xfe", strings.Repeat("ü", 200), bytes.Repeat([]byte("x"), 300))
	f.Fuzz(func(t *testing.T, model, code string, secret []byte) {
		w := spanWriter{most: 100, longest: -1}
		w.head(&head{span: Span{trace.TraceID{1}, trace.SpanID{1}}, name: model, fault: true, why: code})
		w.text(genModel, model)
		w.text(errorType, covered(code, covering(secret)))
		w.texts(genStop, []string{model, code}, covering(secret))
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

// covering covers a text with stars.
type covering []byte

func (c covering) Cover(text string) string {
	if len(c) == 0 {
		return text
	}
	return strings.ReplaceAll(text, string(c), strings.Repeat("*", len(c)))
}

// What nobody may read is covered in the span, and nothing else of it.
func TestSpansAreRedacted(t *testing.T) {
	spans := spansOf(t, Config{}, func(tells *Telemetry) {
		var x Exchange
		x.Begin(tells.Traces, nil, About{Operation: OperationChat, Model: "CANARY", Alone: true, Secrets: covering("CANARY")}, time.Now())
		x.End(Ended{Status: 400, Reading: &meter.Reading{ResponseID: strings.Repeat("i", maxValue-3) + "CANARY", Failed: true, ErrorCode: "CANARY", FinishReasons: []string{"a CANARY"}}}, time.Now())
	})
	for _, a := range spans[0].GetAttributes() {
		switch value := fmt.Sprint(plain(a.GetValue())); {
		case a.GetKey() == string(genReasons) && value != "[a ******]":
			t.Errorf("%s is %q", a.GetKey(), value)
		case a.GetKey() == string(genResponseID) && value != strings.Repeat("i", maxValue-3)+"***", a.GetKey() == string(errorType) && value != "******", a.GetKey() == string(genModel) && value != "CANARY":
			t.Errorf("%s is %q", a.GetKey(), value)
		}
	}
}
