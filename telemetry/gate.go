package telemetry

import (
	"context"
	"regexp"
	"strconv"
	"sync/atomic"

	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// gate bounds what waits to be sent, and counts what is lost, by why. The SDK's own queue of log records drops as well, but
// does not tell how much; nothing gets to it that it would have to drop.
type gate struct {
	most    int64
	waiting atomic.Int64
	full    atomic.Int64 // found no room
	refused atomic.Int64 // the collector did not take them, or was not there
}

func newGate(most int64) *gate { return &gate{most: most} }

// enter reports whether there is room for one more; what finds none is lost.
func (g *gate) enter() bool {
	if g.waiting.Add(1) <= g.most {
		return true
	}
	g.turnAway()
	return false
}

// turnAway takes back an enter: there was no room after all.
func (g *gate) turnAway() {
	g.waiting.Add(-1)
	g.full.Add(1)
}

// leave tells that n are out, sent or lost, and returns how many are lost.
func (g *gate) leave(n int, err error) (lost int64) {
	g.waiting.Add(int64(-n))
	if err != nil {
		lost = rejected(err, int64(n))
		g.refused.Add(lost)
	}
	return lost
}

// rejections is how exporters say that a collector took a part of a batch. They have no type for it.
var rejections = regexp.MustCompile(`(?s)partial success: .*\((\d+) [a-z ]+ rejected\)`)

// rejected is how many of a batch of n are lost.
func rejected(err error, n int64) int64 {
	if said := rejections.FindStringSubmatch(err.Error()); said != nil {
		if some, bad := strconv.ParseInt(said[1], 10, 64); bad == nil {
			return min(some, n)
		}
	}
	return n
}

// logGate stands before the SDK's batches of log records.
type logGate struct {
	*gate
	sdklog.Processor
}

func newLogGate(g *gate, exporter sdklog.Exporter) *logGate {
	return &logGate{g, sdklog.NewBatchProcessor(leavingLogs{exporter, g}, sdklog.WithMaxQueueSize(int(g.most)))}
}

func (g *logGate) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if !g.enter() {
		return nil
	}
	return g.Processor.OnEmit(ctx, r)
}

// leavingLogs counts log records out.
type leavingLogs struct {
	sdklog.Exporter
	gate *gate
}

func (l leavingLogs) Export(ctx context.Context, records []sdklog.Record) error {
	err := l.Exporter.Export(ctx, records)
	l.gate.leave(len(records), err)
	return err
}
