package gateway_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"sluice/policy/limit/limittest"
	"sluice/telemetry"
)

// spanSink keeps the sent spans.
type spanSink struct {
	mu    sync.Mutex
	spans []*tracepb.Span
	send  func() error // sends the waiting spans, and ends the telemetry
}

func (*spanSink) Start(context.Context) error { return nil }
func (*spanSink) Stop(context.Context) error  { return nil }

func (s *spanSink) UploadTraces(_ context.Context, sent []*tracepb.ResourceSpans) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range sent {
		wire, err := proto.Marshal(of)
		if err != nil {
			return err
		}
		read := new(tracepb.ResourceSpans)
		if err := proto.Unmarshal(wire, read); err != nil {
			return err
		}
		for _, scope := range read.GetScopeSpans() {
			s.spans = append(s.spans, scope.GetSpans()...)
		}
	}
	return nil
}

// traced makes the telemetry of a harness: every request of every test is recorded, and at the test's end every span must
// have ended.
func traced(t testing.TB, config telemetry.Config) (*telemetry.Telemetry, *spanSink) {
	t.Helper()
	sink := new(spanSink)
	config.Logger, config.Exporter = discard(), otlptrace.NewUnstarted(sink)
	tells, err := telemetry.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	sink.send = sync.OnceValue(func() error { return tells.Close(context.Background()) })
	t.Cleanup(func() {
		end := time.Now().Add(5 * time.Second)
		for tells.Traces.Unended() != 0 && time.Now().Before(end) {
			<-time.After(time.Millisecond) // a server's Close does not wait for handlers whose clients reset their streams
		}
		if n := tells.Traces.Unended(); n != 0 {
			t.Errorf("%d spans were begun and not ended", n)
		}
		if err := sink.send(); err != nil {
			t.Error(err)
		}
	})
	return tells, sink
}

// inParallel has the names of the tests that run beside others.
var inParallel sync.Map

// parallel lets a test that waits most of its time run beside others. A test that measures memory, or that takes a processor's time,
// runs alone.
func parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	inParallel.Store(topOf(t), true)
}

// isParallel reports whether other tests run beside this one, so that their goroutines cannot be distinguished.
func isParallel(t *testing.T) bool {
	_, ok := inParallel.Load(topOf(t))
	return ok
}

// topOf is the name of the test that this is a part of.
func topOf(t *testing.T) string {
	top, _, _ := strings.Cut(t.Name(), "/")
	return top
}

// runAll runs the tests, many at a time: those that are parallel wait for timeouts, not for a processor. It fails if goroutines are left.
func runAll(m *testing.M) int {
	flag.Parse()
	const least = 12
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && runtime.GOMAXPROCS(0) < least {
		_ = f.Value.Set(strconv.Itoa(least))
	}
	code := m.Run()
	limittest.StopRedis()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
