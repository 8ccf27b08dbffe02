package redisstore

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// outsideRows are rates outside of the teams, as outside.lua takes them: those of the accounts at the service, in a slot of their own.
// Calls about them have no ids, so none is retried. A lost correction refills within the rate's period.
type outsideRows struct {
	rates   []teams.Rate
	keys    []any
	Force   bool       `json:"force"`
	Look    bool       `json:"look,omitzero"` // takes nothing
	Rates   []rateArgs `json:"rates"`
	Amounts []int64    `json:"amounts"` // what is taken of each; negative: given back
}

// add adds what a scope takes, less what was taken before. The latest reading of a rate counts, if a reload changed it.
func (o *outsideRows) add(s *limit.Scope, takes, taken *limit.Amounts) {
	for u, n := range takes {
		if s.Rates[u].Limit == 0 || n == 0 && taken[u] == 0 {
			continue
		}
		key, at := accountKeys+s.Name+":"+string(unit.Names[u]), 0
		for at < len(o.keys) && o.keys[at] != key {
			at++
		}
		if at == len(o.keys) {
			o.keys, o.rates, o.Rates, o.Amounts = append(o.keys, key), append(o.rates, s.Rates[u]), append(o.Rates, rateArgs{}), append(o.Amounts, 0)
		}
		o.rates[at], o.Rates[at] = s.Rates[u], rateArgsOf(s.Rates[u])
		o.Amounts[at] += n - taken[u]
	}
}

// takeOutside takes from all rates of the scopes outside of a hold's team, or from none, and returns the rate with the longest wait.
func (w *wire) takeOutside(ctx context.Context, h *limit.Hold) (fault teams.Rate, wait time.Duration, err error) {
	var rows outsideRows
	rows.addAll(h)
	return rows.send(ctx, w)
}

// LookOutside returns the rate of the scopes outside of a hold's team with the longest wait; 0: none refuses. It takes nothing.
func LookOutside(ctx context.Context, r *Store, h *limit.Hold) (fault teams.Rate, wait time.Duration, err error) {
	rows := outsideRows{Look: true}
	rows.addAll(h)
	return rows.send(ctx, &r.wire)
}

// addAll adds what a hold takes of all its scopes.
func (o *outsideRows) addAll(h *limit.Hold) {
	for i := range h.Rated() {
		takes := h.Outside[i].Takes(&h.Amounts)
		o.add(&h.Outside[i], &takes, &limit.Amounts{})
	}
}

// MoveRated takes a moving hold from the rates of its new account, and gives back to those of the old one, or does neither. It returns the
// rate with the longest wait.
func MoveRated(ctx context.Context, r *Store, m *limit.Move) (fault teams.Rate, wait time.Duration, err error) {
	var rows outsideRows
	rows.addAll(m.To)
	for i := range m.From.Outside {
		if s := &m.From.Outside[i]; !m.From.Shared {
			taken := s.Takes(&m.From.Amounts)
			rows.add(s, &limit.Amounts{}, &taken)
		}
	}
	return rows.send(ctx, &r.wire)
}

// correctionTime is how long a correction of rates outside of the teams may take.
const correctionTime = time.Second

// correctOutside corrects the rates outside of the teams from what was held to what was used, for all settled charges in one call.
func (w *wire) correctOutside(ctx context.Context, charges []*limit.Charge) {
	rows := outsideRows{Force: true}
	for _, c := range charges {
		for i := range c.Held.Outside {
			s := &c.Held.Outside[i]
			taken, used := s.Takes(&c.Held.Amounts), limit.Amounts{}
			for u, n := range taken {
				if n > 0 {
					used[u] = c.Amounts[u]
				}
			}
			rows.add(s, &used, &taken)
		}
	}
	_, _, _ = rows.send(ctx, w)
}

// send runs outside.lua, and returns the rate that refuses.
func (o *outsideRows) send(ctx context.Context, w *wire) (fault teams.Rate, wait time.Duration, err error) {
	if len(o.keys) == 0 {
		return fault, 0, nil
	}
	in, err := w.run(ctx, w.begin(outsideScript, o, o.keys...))
	if err != nil {
		return fault, 0, err
	}
	done, at, longest := in.next() == 1, in.next(), in.next()
	switch err := in.end(); {
	case err != nil || done || o.Look && at < 0:
		return fault, 0, err
	case at < 0 || at >= int64(len(o.rates)):
		return fault, 0, errMixed
	}
	return o.rates[at], micros(longest), nil
}
