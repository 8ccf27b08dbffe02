package telemetry

import "context"

// Rare are the labels that counters of rare events can have with the teams and accounts in force.
type Rare struct {
	Alarms []string // the service's codes that are alarms; the gateway's own are known here
	Hooks  []string // the ids of hooks
	Models []string // the labels of models that may be used without a price
	House  []Passed // the percentages that are reported
}

// Passed is a percentage of a quota of all teams together.
type Passed struct {
	Unit, Period string
	Percent      int
}

// The outcomes of deliveries after which an event is lost to its hook.
var lostDeliveries = [...]string{"given_up", "ended"}

// Begin makes counters of rare events exist before the first event, with 0: Prometheus sees no increase of a series that appears with 1.
// What they have counted stays.
func (r Rare) Begin(m *Metrics) {
	if m == nil {
		return
	}
	for _, code := range r.Alarms {
		m.alarms.begin(code)
	}
	for _, model := range r.Models {
		m.unpriced.begin(model)
	}
	for _, hook := range r.Hooks {
		for _, outcome := range lostDeliveries {
			m.hooks.begin(hookKey{hook, outcome})
		}
	}
	for _, passed := range r.House {
		m.houseAlerts.begin(passed)
	}
}

// beginOwn begins the counters whose labels do not depend on teams.
func (i *instruments) beginOwn() {
	i.surplus.Add(context.Background(), 0)
	i.active.Add(context.Background(), 0)
	for _, code := range []string{AlarmKeyRefused, AlarmKeyPresented, AlarmTaskUnknown, AlarmTaskStatus} {
		i.alarms.begin(code)
	}
	for _, outcome := range []string{reloadOK, reloadFaulty} {
		i.reloads.begin(outcome)
	}
}
