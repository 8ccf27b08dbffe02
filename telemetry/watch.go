package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Watched are functions that a scrape calls to read values from the rest of the process. They must not block. Metrics of nil ones are
// left out.
type Watched struct {
	Degraded    func() bool                       // Redis is unreachable, or does not know yet what teams spent while it was
	Replicas    func() (alive, set int64)         // replicas that are alive, 0: not known, and SLUICE_REPLICAS
	Holds       func() (int, time.Duration, bool) // open holds, and the age of the oldest; false: not known yet
	TeamsFaulty func() bool                       // the newest teams file is faulty and the previous one is in force
	LogDropped  func() uint64                     // lost lines
	Reconciled  func() (Reconciled, bool)         // the last reconciliation; false: none is known
	Accounts    func() []Account                  // the accounts at the service
	Queue       func(show ShowQueue)              // MUST call show for each team
	Hooks       func() map[string]time.Duration   // the age of the oldest event that each hook has not taken
	HooksEnded  func() map[string]bool            // whether each hook was ended by its receiver
	Mirror      func() int                        // pictures that wait to be stored, of those that this replica tried last

	EventsDropped func() int64          // events that this process dropped because their team had too many
	Streams       func() map[string]int // open streams of events, by team
}

// ShowQueue takes how many requests of a team are queued, and how many may be.
type ShowQueue func(team string, waiting, most int)

// Watch adds metrics that show the rest of the process.
func (m *Metrics) Watch(w Watched) error {
	b := builder{meter: m.meter}
	if w.Degraded != nil {
		b.gauge(ownDegraded, "", "1 while Redis is away, or does not yet know what teams spent", yesNo(w.Degraded))
	}
	if w.Replicas != nil {
		b.replicas(w.Replicas)
	}
	if w.Holds != nil {
		b.gauge(ownHoldsOpen, "{hold}", "holds that are not settled", func() (float64, bool) {
			open, _, known := w.Holds()
			return float64(open), known
		})
		b.gauge(ownHoldsOldest, "s", "age of the oldest hold that is not settled", func() (float64, bool) {
			_, age, known := w.Holds()
			return age.Seconds(), known
		})
	}
	if w.TeamsFaulty != nil {
		b.gauge(ownTeamsFaulty, "", "1 while the newest teams file is faulty and the previous one is in force", yesNo(w.TeamsFaulty))
	}
	if w.Reconciled != nil {
		b.reconciled(w.Reconciled)
	}
	if w.LogDropped != nil {
		b.totals(ownLogDropped, "{line}", "log lines that were lost, because the output is too slow, gone or full",
			func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(int64(w.LogDropped()))
				return nil
			})
	}
	if w.EventsDropped != nil {
		b.totals(ownEventsDropped, "{event}", "events that were dropped, because their team had too many",
			func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(w.EventsDropped())
				return nil
			})
	}
	if w.Streams != nil {
		b.intGauges(ownStreams, "{stream}", "open streams of events, by team", func(_ context.Context, o metric.Int64Observer) error {
			for team, open := range w.Streams() {
				o.Observe(int64(open), metric.WithAttributes(labelTeam.String(team)))
			}
			return nil
		})
	}
	if w.Mirror != nil {
		b.gauge(ownMirrorWaiting, "{picture}", "pictures of tasks that wait to be stored, of those that this replica tried last",
			func() (float64, bool) {
				return float64(w.Mirror()), true
			})
	}
	if w.Accounts != nil {
		b.accounts(w.Accounts)
	}
	if w.Queue != nil {
		b.queue(w.Queue)
	}
	if w.Hooks != nil {
		b.gauges(ownHookOldest, "s", "age of the oldest event that waits for a hook, whichever replica tried it; 0: none",
			func(_ context.Context, o metric.Float64Observer) error {
				for hook, age := range w.Hooks() {
					o.Observe(age.Seconds(), metric.WithAttributes(labelHook.String(hook)))
				}
				return nil
			})
	}
	if w.HooksEnded != nil {
		b.intGauges(ownHookEnded, "", "1 while a hook has ended, because its receiver answered 410",
			func(_ context.Context, o metric.Int64Observer) error {
				for hook, ended := range w.HooksEnded() {
					value := int64(0)
					if ended {
						value = 1
					}
					o.Observe(value, metric.WithAttributes(labelHook.String(hook)))
				}
				return nil
			})
	}
	return b.err
}

func (b *builder) queue(read func(ShowQueue)) {
	observe := func(value func(waiting, most int) int) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error {
			read(func(team string, waiting, most int) {
				o.Observe(int64(value(waiting, most)), metric.WithAttributes(labelTeam.String(team)))
			})
			return nil
		}
	}
	b.intGauges(ownQueueWaiting, "{request}", "requests that wait for their turn, by team",
		observe(func(waiting, _ int) int { return waiting }))
	b.intGauges(ownQueueDepth, "{request}", "requests of a team that may wait for their turn", observe(func(_, most int) int { return most }))
}

func (b *builder) replicas(read func() (alive, set int64)) {
	b.intGauges(ownReplicas, "", "replicas: alive, seen by Redis in the last 30 seconds, and set by SLUICE_REPLICAS",
		func(_ context.Context, o metric.Int64Observer) error {
			alive, set := read()
			o.Observe(alive, metric.WithAttributes(labelSource.String("alive")))
			o.Observe(set, metric.WithAttributes(labelSource.String("set")))
			return nil
		})
}

func yesNo(state func() bool) func() (float64, bool) {
	return func() (float64, bool) {
		if state() {
			return 1, true
		}
		return 0, true
	}
}

// watchOwn adds the metrics of values in this package.
func (m *Metrics) watchOwn(config Config) error {
	b := builder{meter: m.meter}
	build := metric.WithAttributeSet(attribute.NewSet(
		attribute.String("version", config.Version), attribute.String("revision", config.Revision),
		attribute.String("go_version", config.GoVersion)))
	b.intGauges(ownBuild, "", "what this binary was built from; always 1", func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(1, build)
		return nil
	})
	b.gauges(ownQuotaUsed, "", "the part of a team's quota that is used or held", m.quotas.observe)
	b.gauges(ownHouseUsed, "", "the part of a quota of all teams together that is used or held", m.house.observe)
	return b.err
}

// watchLost adds the counter of items that exporters lost.
func (m *Metrics) watchLost(gates map[string]*gate) error {
	if len(gates) == 0 {
		return nil
	}
	b := builder{meter: m.meter}
	b.totals(ownOtherDropped, "{item}", "spans or log records that were not sent, by reason: no room in the queue, or the collector "+
		"refused them or was not there",
		func(_ context.Context, o metric.Int64Observer) error {
			for signal, gate := range gates {
				o.Observe(gate.full.Load(), metric.WithAttributes(labelSignal.String(signal), labelReason.String("queue")))
				o.Observe(gate.refused.Load(), metric.WithAttributes(labelSignal.String(signal), labelReason.String("collector")))
			}
			return nil
		})
	return b.err
}

// QuotaUse is the use of one quota of a team.
type QuotaUse struct {
	Unit   string
	Period string  // day or month
	Ratio  float64 // used and held over the limit; above 1 in debt
	Shadow bool    // the quota refuses nothing
}

// quotas are the teams' quotas as last read.
type quotas struct {
	mu    sync.Mutex
	teams map[string][]QuotaUse
}

// Quotas replaces the uses of a team's quotas; without any, the team's series are removed.
func (m *Metrics) Quotas(team string, uses []QuotaUse) {
	if m == nil {
		return
	}
	m.quotas.mu.Lock()
	defer m.quotas.mu.Unlock()
	if m.quotas.teams == nil {
		m.quotas.teams = make(map[string][]QuotaUse)
	}
	if len(uses) == 0 {
		delete(m.quotas.teams, team)
		return
	}
	m.quotas.teams[team] = uses
}

// House replaces the uses of the quotas of all teams together; without any, their series are removed.
func (m *Metrics) House(uses []QuotaUse) {
	if m == nil {
		return
	}
	m.house.mu.Lock()
	defer m.house.mu.Unlock()
	m.house.teams = map[string][]QuotaUse{"": uses}
}

func (q *quotas) observe(_ context.Context, o metric.Float64Observer) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for team, uses := range q.teams {
		for _, use := range uses {
			labels := []attribute.KeyValue{labelUnit.String(use.Unit), labelPeriod.String(use.Period)}
			if team != "" { // "": all teams together
				labels = append(labels, labelTeam.String(team))
			}
			if use.Shadow {
				labels = append(labels, labelShadow.Bool(true))
			}
			o.Observe(use.Ratio, metric.WithAttributes(labels...))
		}
	}
	return nil
}

// The outcomes of a reconciliation.
const (
	ReconciledWithin = "within" // the bill and the ledger differ by at most the tolerance
	ReconciledBeyond = "beyond" // they differ by more
	ReconciledFailed = "failed" // they could not be compared
)

// Reconciled is the last reported outcome of a reconciliation of the ledger with the service's bill.
type Reconciled struct {
	At      time.Time `json:"at"`
	Due     time.Time `json:"due"` // when the next one should be reported at the latest
	Outcome string    `json:"outcome"`
	Ratio   float64   `json:"ratio"` // the difference of the sums over the bill's; 0 if they could not be compared
}

// reconciled adds the metrics of the last reconciliation. Before the first they have no series.
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
	gauge(ownReconciledAt, "s", "when a reconciliation with the bill was last reported, by its outcome",
		func(r *Reconciled) float64 { return seconds(r.At) },
		func(r *Reconciled) []metric.ObserveOption {
			return []metric.ObserveOption{metric.WithAttributes(labelOutcome.String(r.Outcome))}
		})
	gauge(ownReconciledDue, "s", "when the next reconciliation should be reported at the latest",
		func(r *Reconciled) float64 { return seconds(r.Due) }, none)
	gauge(ownReconciledRatio, "", "how much the bill and the ledger differ, of the bill", func(r *Reconciled) float64 { return r.Ratio }, none)
}

// seconds returns a time in seconds since 1970.
func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }
