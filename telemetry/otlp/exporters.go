// Package otlp sends spans, metrics and log records to an OpenTelemetry collector, as the SDK's own OTEL_* variables say.
//
// Exporters and batches are the SDK's. The package reads the variables that choose between them, keeps what waits to be sent
// within bounds, and counts what is lost.
//
// It knows nothing of requests, tasks or models: package telemetry decides what a span tells.
package otlp

import (
	"context"
	"crypto/rand"
	"regexp"
	"strconv"
	"sync/atomic"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// MetricReader returns a reader that sends metrics at intervals, nil if they are not to be sent.
func MetricReader(ctx context.Context) (sdkmetric.Reader, error) {
	if wanted, err := wants(Metrics); !wanted {
		return nil, err
	}
	return autoexport.NewMetricReader(ctx)
}

// LogProcessor returns a processor that sends log records, and the count of those that were lost; nil if they are not to be
// sent.
func LogProcessor(ctx context.Context) (sdklog.Processor, *Gate, error) {
	if wanted, err := wants(Logs); !wanted {
		return nil, nil, err
	}
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return nil, nil, err
	}
	gate := newGate(variable(envLogQueue, defaultQueue))
	return newLogGate(gate, exporter), gate, nil
}

// Resource describes the process to a collector. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence; what is
// invalid in them is left out.
func Resource(ctx context.Context, service, version string) *resource.Resource {
	about, _ := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", service), attribute.String("service.version", version),
			attribute.String("service.instance.id", rand.Text())),
		resource.WithFromEnv())
	return about
}

// Gate bounds the number of items that wait to be sent, and counts those that are lost, by reason. The SDK's queues of
// spans and log records have the same bound but do not count what they drop: behind a Gate they never have to.
type Gate struct {
	most    int64
	waiting atomic.Int64
	full    atomic.Int64 // lost: no room
	refused atomic.Int64 // lost: the collector refused them or was away
}

// Full returns how many items were lost because there was no room.
func (g *Gate) Full() int64 { return g.full.Load() }

// Refused returns how many items were lost because the collector refused them or was away.
func (g *Gate) Refused() int64 { return g.refused.Load() }

func newGate(most int64) *Gate { return &Gate{most: most} }

// enter takes room for one item. It returns false if there is none, and counts the item as lost.
func (g *Gate) enter() bool {
	if g.waiting.Add(1) <= g.most {
		return true
	}
	g.turnAway()
	return false
}

// turnAway takes back an enter and counts the item as lost.
func (g *Gate) turnAway() {
	g.waiting.Add(-1)
	g.full.Add(1)
}

// leave frees the room of n items that were sent, or lost with err, and returns how many of them are lost.
func (g *Gate) leave(n int, err error) (lost int64) {
	g.waiting.Add(int64(-n))
	if err != nil {
		lost = rejected(err, int64(n))
		g.refused.Add(lost)
	}
	return lost
}

// rejections is the text of an exporter's error when a collector took a part of a batch. The library has no type for it.
var rejections = regexp.MustCompile(`(?s)partial success: .*\((\d+) [a-z ]+ rejected\)`)

// rejected returns how many of a batch of n items were lost with an error.
func rejected(err error, n int64) int64 {
	if said := rejections.FindStringSubmatch(err.Error()); said != nil {
		if some, err := strconv.ParseInt(said[1], 10, 64); err == nil {
			return min(some, n)
		}
	}
	return n
}
