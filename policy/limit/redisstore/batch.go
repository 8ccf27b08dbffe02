package redisstore

import (
	"context"
	"slices"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/unit"
)

// batchable reports whether a charge may be in a batch: its hold is most likely unchanged since its admission, its day is not before the
// earliest, and it has no event. Late changes of earlier days are noted only by settle.lua.
func batchable(c *limit.Charge, earliest int) bool {
	return c.Held.Day >= earliest && !c.ByID() && !c.Held.Local
}

// batchOf returns the call of batch.lua that settles batchable charges of one team and day, none of them twice, by their sums. With it
// BenchmarkDecisions takes a fifth less processor time, of this process and Redis together, than with only settle.lua.
func batchOf(r *Store, charges []*limit.Charge) settlement {
	h := charges[0].Held
	t := r.teams.Get(h.Team)
	s := newSums(r.fields.on(h.Day), t, charges)
	reached, telling := reachedOf(r, charges)
	c := calls.Get().(*call).start(reached.with(batchTelling, batchScript), 0)
	names := c.nameCharges(t.hold, charges)
	c.args = append(c.args, t.key, t.openKey, t.day(h.Day))
	for _, in := range s.inside {
		c.args = append(c.args, t.inside(in.kind, h.Day))
	}
	for i := range s.rates {
		c.args = append(c.args, s.rates[i].key)
	}
	c.args[keysAt-1] = len(c.args) - keysAt + len(charges)
	for i := range names {
		c.args = append(c.args, &names[i].key)
	}
	c.begun(r.Clock())
	c.known = t.version()
	c.args = append(c.args, h.Day, s.ends, len(s.counts), &c.known.epoch, &c.known.seq, len(s.rates), len(s.kinds)/2, len(s.inside),
		reached.text())
	for i := range s.rates {
		c.args = append(append(c.args, s.rates[i].args...), &s.rates[i].taken, &s.rates[i].given)
	}
	for _, charge := range charges {
		c.args = append(c.args, &charge.Held.ID)
	}
	for i := range names {
		c.args = append(c.args, &names[i].text)
	}
	for _, in := range s.inside {
		c.args = append(append(c.args, len(in.known), 2*len(in.counts)), in.known...)
		for i := range in.counts {
			c.args = append(c.args, &in.counts[i].field, &in.counts[i].n)
		}
	}
	c.args = append(c.args, s.quota...)
	for i := range s.counts {
		c.args = append(c.args, &s.counts[i].n)
	}
	c.args = append(append(c.args, s.kinds...), s.ledger...)
	return settlement{call: c, counts: s.counts, inside: s.inside, telling: telling}
}

// keysAt is the index of a script's first key in its arguments, after their number.
const keysAt = 3

// nameCharges names the holds of charges, whose keys begin with prefix, in the call's memory.
func (c *call) nameCharges(prefix string, charges []*limit.Charge) []named {
	b, names := c.text[:0], c.names[:0]
	for _, charge := range charges {
		from := len(b)
		b = append(append(b, prefix...), charge.Held.ID...)
		key := len(b)
		b = appendHeldText(b, charge.Held, charge.Held.Rates)
		names = append(names, named{b[from:key:key], b[key:len(b):len(b)]})
	}
	c.text, c.names = b, names
	return names
}

// sums are the totals of charges.
type sums struct {
	rates  []rateSum
	quota  []any       // fields
	counts []count     // for each of quota: what is added, and later the total
	kinds  []any       // field, what a row used by kind
	ledger []any       // field, amount
	ends   any         // the day, µs
	inside []insideSum // of the kinds of scopes inside the team
}

// rateSum is what charges take from a rate and give back to it.
type rateSum struct {
	*wiredRate
	taken, given int64 // µs of refill
}

// rowSum is what charges used of an entry of a ledger, the estimated part of that, and what they held.
type rowSum struct {
	used, doubt, freed limit.Amounts
	kinds              price.Sum // of an entry by model and endpoint
}

func (s *rowSum) add(c *limit.Charge) {
	s.used, s.freed = s.used.Plus(c.Amounts), s.freed.Plus(c.Held.Amounts)
	if c.Estimated {
		s.doubt = s.doubt.Plus(c.Amounts)
	}
}

// rows adds up charges by name. There are few names, and most often one.
type rows[N comparable] struct {
	names []N
	sums  []rowSum
}

func (r *rows[N]) of(name N) *rowSum {
	i := slices.Index(r.names, name)
	if i < 0 {
		i = len(r.names)
		r.names, r.sums = append(r.names, name), append(r.sums, rowSum{})
	}
	return &r.sums[i]
}

// entry names an entry of a day's ledger.
type entry struct {
	model    string
	endpoint policy.Endpoint
	account  string
}

func (e entry) name() string { return limit.LedgerName(e.model, e.endpoint, e.account) }

func newSums(fields *dayFields, t *team, charges []*limit.Charge) (s sums) {
	s.ends = fields.ends
	var all rowSum
	var entries rows[entry]
	var inside [limit.InnerScopes]rows[limit.Inner]
	for _, c := range charges {
		all.add(c)
		row := entries.of(entry{c.Held.Model, c.Held.Endpoint, c.Held.Account})
		row.add(c)
		c.AddKinds(&row.kinds)
		for k := range inside {
			if part := c.Held.Inner(limit.ScopeKind(k + 1)); part != "" {
				inside[k].of(part).add(c)
			}
		}
		s.rate(t.wired(c.Team, c.Held.Key.Name()), c)
	}
	for unit, word := range unit.Names {
		for q := 2 * unit; q < 2*unit+2; q++ {
			if n := all.freed[unit]; n != 0 {
				s.quota, s.counts = append(s.quota, fields.held[q]), append(s.counts,
					count{period: periodOf(fields.day, q), unit: unit, held: true, n: -n})
			}
			if n := all.used[unit]; n != 0 {
				s.quota, s.counts = append(s.quota, fields.used[q]), append(s.counts, count{period: periodOf(fields.day, q), unit: unit, n: n})
			}
		}
		for i, of := range entries.names {
			sum := &entries.sums[i]
			if sum.used[unit]|sum.doubt[unit] == 0 {
				continue
			}
			field := of.name() + "|" + string(word)
			if n := sum.used[unit]; n != 0 {
				s.ledger = append(s.ledger, field, n)
			}
			if n := sum.doubt[unit]; n != 0 {
				s.ledger = append(s.ledger, field+estimatedPart, n)
			}
		}
	}
	for i, of := range entries.names {
		if kinds := entries.sums[i].kinds.ByKind(); kinds != "" {
			s.kinds = append(s.kinds, kindsField(of.name()), string(kinds))
		}
	}
	for k := range inside {
		if inside[k].names != nil {
			s.inside = append(s.inside, newInsideSum(limit.ScopeKind(k+1), fields.day, &inside[k]))
		}
	}
	return s
}

// rate adds what a charge takes from the rates of its terms and gives back to them.
func (s *sums) rate(w *wiredTerms, c *limit.Charge) {
	for i := range w.rates {
		r := &w.rates[i]
		over := c.Amounts[r.Unit-1] - c.Held.Amounts[r.Unit-1]
		if over == 0 || !c.Held.Rates.Of(r.kind).Has(r.Unit-1) {
			continue
		}
		at := slices.IndexFunc(s.rates, func(o rateSum) bool { return o.wiredRate == r || o.key == r.key })
		if at < 0 {
			at, s.rates = len(s.rates), append(s.rates, rateSum{wiredRate: r})
		}
		if over > 0 {
			s.rates[at].taken += limit.Taking(r.rate, over)
		} else {
			s.rates[at].given += limit.Giving(r.rate, -over)
		}
	}
}

// batched reads the reply to a batch, and reports whether all charges were settled. If not, none was: settle.lua has to look at each.
func batched(ctx context.Context, r *Store, team string, s *settlement) (bool, error) {
	in, err := r.replyTo(s.call)
	if err != nil {
		return false, err
	}
	done, of := in.next() == 1, version{in.next(), in.next()}
	for i := 0; done && i < len(s.counts); i++ {
		s.counts[i].n = in.next()
	}
	var scopes []scopeCount
	for i := 0; done && i < len(s.inside); i++ {
		scopes = s.inside[i].read(in, scopes)
	}
	var written, displaced int64
	if done && s.telling != nil {
		written, displaced = in.next(), in.next()
	}
	if err := in.end(); err != nil || !done {
		return false, err
	}
	_ = s.reportEvents(ctx, r, written, displaced)
	s.call.reuse() // after an error the client may still use it
	r.teams.Get(team).recordCounts(of, s.counts)
	r.teams.Get(team).recordScopes(of, scopes)
	return true, nil
}

// insideSum is what a batch changes in a day's hash of the scopes of one kind inside the team.
type insideSum struct {
	kind   limit.ScopeKind
	known  []any // fields that the hash must have, because the day must know the names
	counts []insideCount
}

// insideCount is a field, what is added to it, and later its new value.
type insideCount struct {
	field string
	scopeCount
	used bool // of a scope whose use is kept, to restore it
}

func newInsideSum(kind limit.ScopeKind, day int, all *rows[limit.Inner]) insideSum {
	s := insideSum{kind: kind, known: make([]any, len(all.names)), counts: make([]insideCount, 0, 6*len(all.names))}
	for i, part := range all.names {
		name, sum, counted := part.Name(), &all.sums[i], part.Counted()
		s.known[i] = knownField(name)
		for unit, word := range unit.Names {
			if sum.used[unit]|sum.doubt[unit]|sum.freed[unit] == 0 {
				continue
			}
			held, of := name+"||"+string(word)+heldPart, scopeDay{kind, day, name}
			field := held[:len(held)-len(heldPart)]
			if n := sum.doubt[unit]; n != 0 {
				s.counts = append(s.counts, insideCount{field + estimatedPart, scopeCount{of, unit, n}, false})
			}
			if n := sum.freed[unit]; n != 0 && counted {
				s.counts = append(s.counts, insideCount{held, scopeCount{of, unit, -n}, false})
			}
			if n := sum.used[unit]; n != 0 {
				s.counts = append(s.counts, insideCount{field, scopeCount{of, unit, n}, counted})
			}
		}
	}
	return s
}

// knownField is a field that a day's hash has if it counts a name under itself: see known_name in holds.lua.
func knownField(name string) string {
	if name == "" || name == limit.Other {
		return "day"
	}
	return "#" + name
}

// read reads the new values, and adds those that are kept to a list.
func (s *insideSum) read(in *reply, list []scopeCount) []scopeCount {
	for i := range s.counts {
		c := &s.counts[i]
		if c.n = in.next(); c.used {
			list = append(list, c.scopeCount)
		}
	}
	return list
}
