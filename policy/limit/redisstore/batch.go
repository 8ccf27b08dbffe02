package redisstore

import (
	"strconv"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// plain reports whether a charge may be one of a batch: its hold is likely to be as it was admitted, and nothing else
// is known of it later.
func plain(c *limit.Charge) bool {
	return c.Held.Day > 0 && !c.Held.Task && !c.Held.Local
}

// batch is a call of batch.lua for plain charges of one team and day, none of them twice.
func (r *Store) batch(charges []*limit.Charge, used []limit.Amounts) settlement {
	h := charges[0].Held
	k, number := r.keysOf(h.Team), newNumber()
	w := k.wired(charges[0].Team)
	sums := newSums(w, charges, used)
	call := append(batchScript.call(6+len(charges), 28+2*len(charges)+2*(len(sums.quota)+len(sums.ledger))), k.shared...)
	call = append(call, k.day(h.Day))
	for _, c := range charges {
		call = append(call, k.hold+c.Held.ID)
	}
	call = append(append(call, r.Clock(), number), w.rates...)
	for i := range sums.taken {
		call = append(call, sums.taken[i], sums.given[i])
	}
	known := r.own.Get(h.Team).witness()
	call = append(call, h.Day, remembered.Milliseconds(), len(sums.quota)/2, known.epoch, known.seq)
	for _, c := range charges {
		call = append(call, c.Held.ID)
	}
	for _, c := range charges {
		call = append(call, heldText(c.Held, c.Held.Rates))
	}
	return settlement{call: append(append(call, sums.quota...), sums.ledger...), number: number, team: h.Team, counts: sums.counts}
}

// heldText is what stands at the hold's key as long as it is open and was taken from those rates.
func heldText(h *limit.Held, rates limit.RateSet) string {
	b := append(make([]byte, 0, 192), "held 0 "...)
	b = strconv.AppendInt(b, int64(flag(h.Task)), 10)
	for _, n := range [...]int{int(rates), h.Day, h.Month} {
		b = strconv.AppendInt(append(b, ' '), int64(n), 10)
	}
	return string(appendHold(b, h))
}

// sums are what charges add up to.
type sums struct {
	taken, given  [limit.RateCount]int64 // µs that it takes to refill
	quota, ledger []any                  // field, amount
	counts        []count                // one for each of quota
}

func newSums(w *wiredTerms, charges []*limit.Charge, used []limit.Amounts) (s sums) {
	var freed, charged limit.Amounts
	names := make([]string, 0, 1)
	byName := make([][2]limit.Amounts, 0, 1) // used, and the part of it that nobody knows for certain
	for n, c := range charges {
		held := &c.Held.Amounts
		freed, charged = freed.Plus(*held), charged.Plus(used[n])
		i := 0
		for name := c.Held.What(); i < len(names) && names[i] != name; i++ {
		}
		if i == len(names) {
			names, byName = append(names, c.Held.What()), append(byName, [2]limit.Amounts{})
		}
		byName[i][0] = byName[i][0].Plus(used[n])
		if c.Estimated {
			byName[i][1] = byName[i][1].Plus(used[n])
		}
		for i, rate := range w.terms.Rates {
			switch over := used[n][i] - held[i]; {
			case rate.Limit == 0 || !c.Held.Rates.Has(i):
			case over > 0:
				s.taken[i] += taking(rate, over)
			case over < 0:
				s.given[i] += giving(rate, -over)
			}
		}
	}
	h := charges[0].Held
	for unit, word := range teams.Units {
		for _, period := range [2]int{h.Day, h.Month} {
			field := strconv.Itoa(period) + ":" + string(word)
			if n := freed[unit]; n != 0 {
				s.quota, s.counts = append(s.quota, field+":held", -n), append(s.counts, count{period: period, unit: unit, held: true})
			}
			if n := charged[unit]; n != 0 {
				s.quota, s.counts = append(s.quota, field+":used", n), append(s.counts, count{period: period, unit: unit})
			}
		}
		for i, name := range names {
			s.ledger = add(s.ledger, name+"|"+string(word), byName[i][0][unit])
			s.ledger = add(s.ledger, name+"|"+string(word)+estimatedPart, byName[i][1][unit])
		}
	}
	return s
}

func add(list []any, field string, n int64) []any {
	if n == 0 {
		return list
	}
	return append(list, field, n)
}

// batched reads the reply to a batch: whether it settled all of its charges, none of them because they have to be looked at,
// or none because the accounts known are gone or are being put back.
func (r *Store) batched(s *settlement, reply []int64, err error) (bool, error) {
	length := 3
	if err == nil && len(reply) > 1 && reply[1] == 1 {
		length += len(s.counts)
	}
	in, err := said(s.number, reply, err, length)
	if err == nil {
		err = notTaken(limit.Outcome(in[0]))
	}
	if err != nil || in[0] == 0 {
		return false, err
	}
	for i := range s.counts {
		s.counts[i].n = in[3+i]
	}
	r.own.Get(s.team).knowCounts(witness{in[1], in[2]}, s.counts)
	return true, nil
}
