package limit

import "time"

// What an account does with its buckets. Its lock is held.

// fit brings the buckets to the team's current rates, and creates missing ones.
func (a *account) fit(t *Terms, now time.Time) {
	for i := range t.Rates {
		r := &t.Rates[i]
		switch b := a.buckets[i]; {
		case r.Limit == 0: // a bucket from before a reload stays as it is, in case the rate comes back
		case b != nil:
			b.set(r, now)
		default:
			a.buckets[i] = newBucket(*r, a.bank.dry.Load(), now)
		}
	}
}

// missing is how many microseconds each bucket takes to be full.
func (a *account) missing(t *Terms, now time.Time) (missing [RateCount]int64) {
	for i := range t.Rates {
		if t.Rates[i].Limit > 0 {
			missing[i] = a.buckets[i].missing(now)
		}
	}
	return missing
}

func (a *account) waits(h *Hold, t *Terms, missing *[RateCount]int64) (waits [RateCount]time.Duration) {
	for i := range t.Rates {
		if t.Rates[i].Limit > 0 && h.Amounts[i] > 0 {
			waits[i] = a.buckets[i].wait(h.Amounts[i], missing[i])
		}
	}
	return waits
}

// take takes what a hold asks for from the buckets.
func (a *account) take(h *Hold, t *Terms, missing *[RateCount]int64, now time.Time) {
	for i := range t.Rates {
		if t.Rates[i].Limit > 0 && h.Amounts[i] > 0 {
			missing[i] = a.buckets[i].take(h.Amounts[i], now)
		}
	}
}

func (a *account) fills(t *Terms, missing *[RateCount]int64) (fills [RateCount]Fill) {
	for i := range t.Rates {
		if t.Rates[i].Limit > 0 {
			fills[i] = a.buckets[i].fill(missing[i])
		}
	}
	return fills
}

// correct brings the buckets that a hold was taken from to what was used. A rate that a reload has added since is left alone.
func (a *account) correct(t *Terms, rates RateSet, held, used Amounts, now time.Time) {
	for i := range t.Rates {
		switch {
		case t.Rates[i].Limit == 0 || !rates.Has(i):
		case used[i] > held[i]:
			a.buckets[i].take(used[i]-held[i], now)
		default:
			a.buckets[i].give(held[i]-used[i], now)
		}
	}
}
