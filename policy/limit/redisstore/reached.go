package redisstore

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/unit"
)

// reachedArgs are the thresholds of quotas that a settlement may pass, as arguments of its script.
type reachedArgs struct {
	*outbox.Written
	Quotas []thresholdArgs `json:"quotas"`
}

// thresholdArgs are the thresholds of a quota, as reached.lua has them.
type thresholdArgs struct {
	Period string  `json:"period"`
	Field  string  `json:"field,omitempty"`
	Kind   string  `json:"kind,omitempty"`
	Of     string  `json:"of"`
	Unit   string  `json:"unit,omitempty"`
	Own    bool    `json:"own,omitempty"`
	Memory string  `json:"memory"`
	Name   string  `json:"name"`
	At     []int64 `json:"at"`
	Limit  int64   `json:"limit"`
	Head   string  `json:"head"`
	Tail   string  `json:"tail"`
	Digits int     `json:"digits"`
}

// reachedOf returns the thresholds that a group's charges may pass, and the draft with the targets of their announcement; nil: none.
func reachedOf(r *Store, charges []*limit.Charge) (*reachedArgs, *event.Draft) {
	if r.Events == nil {
		return nil, nil
	}
	account := charges[0].Held.Team
	list, to := r.Alerts.For(account, charges...)
	if len(list) == 0 {
		return nil, nil
	}
	draft := &event.Draft{Type: event.QuotaReached, Team: account, To: to}
	args := &reachedArgs{r.Events.Write(draft), make([]thresholdArgs, len(list))}
	for i := range list {
		args.Quotas[i] = thresholdArgsOf(&list[i])
	}
	return args, draft
}

// thresholds are those of an account's own quotas, on the date that was last read.
func thresholds(r *Store, account string, o *own) (all []thresholdArgs) {
	if r.Events == nil || r.Alerts == nil {
		return nil
	}
	o.mu.Lock()
	held := &limit.Held{Team: account, Day: o.date.Day, Month: o.date.Month}
	o.mu.Unlock()
	of, _, _, _ := r.Alerts(account)
	list, _ := r.Alerts.For(account, &limit.Charge{Held: held, Team: of})
	for i := range list {
		all = append(all, thresholdArgsOf(&list[i]))
	}
	return all
}

func thresholdArgsOf(t *limit.Thresholds) thresholdArgs {
	a := thresholdArgs{
		Period: strconv.Itoa(t.Period), Memory: outbox.FirstsEnd, Name: strings.TrimSuffix(t.Name(0), "0"), Limit: t.Limit,
		Digits: t.Money.Decimals(t.Unit()),
	}
	if a.Head, a.Tail = t.Text(); t.Inside() {
		a.Kind, a.Of, a.Unit, a.Own = innerKeys[t.Scope], t.Of, string(t.Unit()), t.Scope == limit.ScopeKey
		a.Memory += ":" + a.Period // clients can invent values of tags: the memory ends with the period
	} else {
		a.Field = a.Period + ":" + string(unit.Names[t.Quota/2]) + ":used"
	}
	for _, percent := range t.Percent {
		a.At = append(a.At, int64(percent), t.Least(percent))
	}
	return a
}

// text is the arguments as batch.lua takes them; empty: nothing is announced.
func (a *reachedArgs) text() string {
	if a == nil {
		return ""
	}
	text, _ := json.Marshal(a) // numbers and texts
	return string(text)
}

// with returns the announcing script if a threshold may be passed, else the silent one, which has no code for it.
func (a *reachedArgs) with(telling, silent *script) *script {
	if a == nil {
		return silent
	}
	return telling
}

// reportEvents reports to the outbox how many events a script wrote, and how many older ones it dropped. It returns the dropped ones
// that are still to be reported. If the reply is lost, the outbox's walk finds the deliveries.
func (s *settlement) reportEvents(ctx context.Context, r *Store, events, displaced int64) int64 {
	if events == 0 {
		return displaced
	}
	r.Events.Wrote(ctx, displaced, s.telling)
	return 0
}
