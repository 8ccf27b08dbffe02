package telemetry

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"sluice/telemetry/meter"
)

// plain is an attribute's value as a Go value.
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

// spansOf runs do and returns its spans.
func spansOf(t *testing.T, config Config, do func(tells *Telemetry)) []*tracepb.Span {
	t.Helper()
	k := new(collector)
	config.Logger, config.Exporter = slog.New(slog.DiscardHandler), otlptrace.NewUnstarted(k)
	tells, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	do(tells)
	if n := tells.Traces.Unended(); n != 0 {
		t.Errorf("%d spans have not ended", n)
	}
	if err := tells.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return k.spans
}

// Whatever a request and its answer contain, a span is small.
func TestSpansAreSmall(t *testing.T) {
	huge := strings.Repeat("ü", 1<<19)
	body := []byte(`{"input":{"messages":[{"role":"system","content":"` + huge[:1<<15] + `"},{"role":"user","content":"` +
		huge[:1<<15] + `"}]}}`)
	spans := spansOf(t, Config{Capture: true, Provider: "service", Upstream: &url.URL{Scheme: "https", Host: "service.example"}},
		func(tells *Telemetry) {
			now := time.Now()
			r := Record{Time: now, Method: huge, Route: "/r", Team: "t", Model: huge, Task: huge, UpstreamID: huge, Refusal: "inspect/rules",
				Status: 500}
			tells.Traces.Begin(&r, map[string][]string{"Traceparent": {huge}})
			var x Exchange
			x.Begin(tells.Traces, tells.Metrics, SpanInfo{Operation: OperationChat, Model: huge, Parent: r.Span,
				Parameters: &Parameters{Body: body, Stop: slices.Repeat([]string{huge}, 100)}}, now)
			for range 100 {
				x.Arrived([]byte(`data:{"output":{"text":"`+huge[:1<<12]+`"}}`+"\n"), now)
			}
			x.End(Result{Status: 500, Reading: &meter.Reading{ResponseID: huge, Failed: true, ErrorCode: huge,
				FinishReasons: slices.Repeat([]string{huge}, 100)}}, now)
			x.End(Result{}, now) // only the first counts
			tells.Traces.End(&r)
			tells.Traces.Task(&Task{Creation: r.Span.Traceparent(), ID: huge, Model: huge, Team: "t", Outcome: "failed", Submitted: now, Ended: now})
		})
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	for _, s := range spans {
		for _, a := range s.GetAttributes() {
			n := len(fmt.Sprint(plain(a.GetValue())))
			if list := a.GetValue().GetArrayValue().GetValues(); len(list) > 0 {
				n = n/len(list) - len("[ ]")
			}
			if bound := map[bool]int{true: maxContent, false: maxValue}[strings.HasSuffix(a.GetKey(), "messages") ||
				a.GetKey() == string(genInstructions)]; n > bound {
				t.Errorf("%s of %.10s has %d bytes", a.GetKey(), s.GetName(), n)
			}
		}
		if size := proto.Size(s); size > 16<<10 {
			t.Errorf("%.20s has %d bytes", s.GetName(), size)
		}
	}
}

// Switched-off signals have no substitute, and if nothing is sent nothing is done.
func TestNoSpans(t *testing.T) {
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := Record{Time: time.Now(), Method: "GET"}
	tells.Traces.Begin(&r, nil)
	var x Exchange
	x.Begin(tells.Traces, nil, SpanInfo{Operation: OperationChat}, r.Time)
	x.Arrived([]byte("a"), r.Time)
	x.End(Result{}, r.Time)
	tells.Traces.End(&r)
	tells.Traces.Task(&Task{Creation: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
	(*Metrics)(nil).Served(&r)
	(*Metrics)(nil).Arrived()
	(*Metrics)(nil).Poll("hit")
	(*Metrics)(nil).Settlement("exact")
	if tells.Traces != nil || r.TraceID != "" || x.OwnTraceparent() != "" || x.SentTraceparent() != "" || r.Span.Recording() {
		t.Error("a span was made that is not sent")
	}
	if err := tells.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// The call of an unrecorded request is not recorded either, and a task is recorded if its creation was.
func TestATraceIsRecordedWholeOrNotAtAll(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
	spans := spansOf(t, Config{Join: true}, func(tells *Telemetry) {
		now := time.Now()
		for _, traceparent := range []string{"", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
			"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"} {
			r := Record{Time: now, Method: "POST", Route: "/" + traceparent}
			tells.Traces.Begin(&r, map[string][]string{"Traceparent": {traceparent}})
			var x Exchange
			x.Begin(tells.Traces, nil, SpanInfo{Operation: OperationGenerate, Model: "m", Parent: r.Span}, now)
			creation := x.OwnTraceparent()
			x.End(Result{Status: 200}, now)
			tells.Traces.End(&r)
			tells.Traces.Task(&Task{Creation: creation, ID: "t", Model: "m", Submitted: now, Ended: now})
		}
		var alone Exchange
		alone.Begin(tells.Traces, nil, SpanInfo{Operation: OperationFetch, Root: true}, now)
		alone.End(Result{}, now)
	})
	if len(spans) != 3 {
		t.Errorf("%d spans, want the three of the client that wanted it", len(spans))
	}
	for _, s := range spans {
		if hex.EncodeToString(s.GetTraceId()) != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("%s is of another trace", s.GetName())
		}
	}
}

// The newest conventions name the object of a query; those of 1.41 do not.
func TestNewestConventions(t *testing.T) {
	for opted, want := range map[string]string{"": "", "http": "", "http, gen_ai_latest_experimental": "task-1"} {
		t.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", opted)
		spans := spansOf(t, Config{}, func(tells *Telemetry) {
			var x Exchange
			x.Begin(tells.Traces, tells.Metrics, SpanInfo{Operation: OperationFetch, Model: "m", Task: "task-1", Root: true}, time.Now())
			x.End(Result{Status: 200}, time.Now())
		})
		got := ""
		for _, a := range spans[0].GetAttributes() {
			if a.GetKey() == string(genResponseID) {
				got = a.GetValue().GetStringValue()
			}
		}
		if got != want {
			t.Errorf("%q: gen_ai.response.id is %q, want %q", opted, got, want)
		}
	}
}

// An unset field of a record has no attribute in its place.
func TestAbsentIsNotZero(t *testing.T) {
	spans := spansOf(t, Config{}, func(tells *Telemetry) {
		r := Record{Time: time.Now(), Method: "GET", Status: 200}
		tells.Traces.Begin(&r, nil)
		tells.Traces.End(&r)
	})
	for _, a := range spans[0].GetAttributes() {
		if value := fmt.Sprint(plain(a.GetValue())); value == "" || strings.HasPrefix(a.GetKey(), "sluice.cost") ||
			a.GetKey() == string(genModel) {
			t.Errorf("%s is reported as %q", a.GetKey(), value)
		}
	}
	if len(spans[0].GetAttributes()) > 6 {
		t.Errorf("%v", spans[0].GetAttributes())
	}
}

// The SDK's variables bound the attributes and links of a span.
func TestSpanLimits(t *testing.T) {
	t.Setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3")
	t.Setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "10")
	t.Setenv("OTEL_SPAN_LINK_COUNT_LIMIT", "0")
	spans := spansOf(t, Config{}, func(tells *Telemetry) {
		r := Record{Time: time.Now(), Method: "GET", Route: "/" + strings.Repeat("r", 100), Scheme: "http", Team: "t", Status: 200}
		tells.Traces.Begin(&r, map[string][]string{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}})
		tells.Traces.End(&r)
		var x Exchange
		x.Begin(tells.Traces, nil, SpanInfo{Operation: OperationNone, Root: true,
			Parameters: &Parameters{Stop: []string{strings.Repeat("s", 100)}}}, time.Now())
		x.End(Result{}, time.Now())
	})
	s := spans[0]
	if len(s.GetLinks()) != 0 {
		t.Errorf("%d links", len(s.GetLinks()))
	}
	if list := fmt.Sprint(plain(spans[1].GetAttributes()[0].GetValue())); list != "[ssssssssss]" {
		t.Errorf("a list is %s", list)
	}
	if n := len(s.GetAttributes()); n != 3 || s.GetDroppedAttributesCount() != 3 {
		t.Errorf("%d attributes, %d reported as dropped", n, s.GetDroppedAttributesCount())
	}
	if route := s.GetAttributes()[1].GetValue().GetStringValue(); route != "/rrrrrrrrr" {
		t.Errorf("the route is %q", route)
	}
}

// covering covers a text with stars.
type covering []byte

func (c covering) Cover(text string) string {
	if len(c) == 0 {
		return text
	}
	return strings.ReplaceAll(text, string(c), strings.Repeat("*", len(c)))
}

// A secret in a span is covered, and nothing else.
func TestSpansAreRedacted(t *testing.T) {
	spans := spansOf(t, Config{}, func(tells *Telemetry) {
		var x Exchange
		x.Begin(tells.Traces, nil, SpanInfo{Operation: OperationChat, Model: "CANARY", Root: true, Secrets: covering("CANARY")}, time.Now())
		x.End(Result{Status: 400, Reading: &meter.Reading{ResponseID: strings.Repeat("i", maxValue-3) + "CANARY", Failed: true,
			ErrorCode: "CANARY", FinishReasons: []string{"a CANARY"}}}, time.Now())
	})
	for _, a := range spans[0].GetAttributes() {
		switch value := fmt.Sprint(plain(a.GetValue())); {
		case a.GetKey() == string(genReasons) && value != "[a ******]":
			t.Errorf("%s is %q", a.GetKey(), value)
		case a.GetKey() == string(genResponseID) && value != strings.Repeat("i", maxValue-3)+"***",
			a.GetKey() == string(errorType) && value != "******", a.GetKey() == string(genModel) && value != "CANARY":
			t.Errorf("%s is %q", a.GetKey(), value)
		}
	}
}
