package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// The outcomes of a reconciliation.
const (
	ReconciledWithin = "within" // the bill and the ledger differ by at most the tolerance
	ReconciledBeyond = "beyond" // they differ by more
	ReconciledFailed = "failed" // they could not be compared
)

// Reconciled is the outcome of the last reconciliation of the ledger with the service's bill that was reported.
type Reconciled struct {
	At      time.Time `json:"at"`
	Due     time.Time `json:"due"` // when the next one should be reported at the latest
	Outcome string    `json:"outcome"`
	Ratio   float64   `json:"ratio"` // how much the sums differ, of the bill's; 0 if they could not be compared
}

// reconciled adds the metrics of the last reconciliation. Without one they have no series.
func (b *builder) reconciled(last func() (Reconciled, bool)) {
	gauge := func(name, unit, about string, read func(*Reconciled) float64, labels func(*Reconciled) []metric.ObserveOption) {
		b.gauges(name, unit, about, func(_ context.Context, o metric.Float64Observer) error {
			if r, known := last(); known {
				o.Observe(read(&r), labels(&r)...)
			}
			return nil
		})
	}
	none := func(*Reconciled) []metric.ObserveOption { return nil }
	gauge(ownReconciledAt, "s", "when a reconciliation with the bill was last reported, by its outcome", func(r *Reconciled) float64 { return seconds(r.At) },
		func(r *Reconciled) []metric.ObserveOption {
			return []metric.ObserveOption{metric.WithAttributes(labelOutcome.String(r.Outcome))}
		})
	gauge(ownReconciledDue, "s", "when the next reconciliation should be reported at the latest", func(r *Reconciled) float64 { return seconds(r.Due) }, none)
	gauge(ownReconciledRatio, "", "how much the bill and the ledger differ, of the bill", func(r *Reconciled) float64 { return r.Ratio }, none)
}

// seconds are those since 1970.
func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }
