package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Account is an account at the service at a moment.
type Account struct {
	ID        string
	State     string           // one of the [accountStates]
	InFlight  int              // requests of this process
	Failovers map[string]int64 // requests that went on with another account since the start, by reason
}

// accountStates are the states that an account has a series of, so that an alert sees one end.
var accountStates = [...]string{"ok", "cooling", "out", "draining"}

// accounts adds metrics of the accounts at the service. An account that is removed from the accounts file leaves the page.
func (b *builder) accounts(read func() []Account) {
	b.intGauges(ownAccountState, "", "1 for the state in which an account at the service is, 0 for the others", func(_ context.Context, o metric.Int64Observer) error {
		for _, a := range read() {
			for _, state := range accountStates {
				is := int64(0)
				if a.State == state {
					is = 1
				}
				o.Observe(is, a.labels(labelState.String(state)))
			}
		}
		return nil
	})
	b.intGauges(ownAccountBusy, "{request}", "requests in flight on an account at the service", func(_ context.Context, o metric.Int64Observer) error {
		for _, a := range read() {
			o.Observe(int64(a.InFlight), a.labels())
		}
		return nil
	})
	b.totals(ownFailovers, "{failover}", "requests that went on with another account, by the account that they left and why", func(_ context.Context, o metric.Int64Observer) error {
		for _, a := range read() {
			for reason, n := range a.Failovers {
				o.Observe(n, a.labels(labelReason.String(reason)))
			}
		}
		return nil
	})
}

func (a *Account) labels(more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(more, labelAccount.String(a.ID))...)
}
