package limit

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"sluice/policy/teams"
)

// bucket is a token bucket in this process, as the scripts keep one in Redis (buckets.lua). Both count in whole microseconds of
// refill, which are the tokens of the [rate.Limiter]. The bucket may be in debt of one full refill. The caller hands in a time
// that never goes back.
type bucket struct {
	rate   teams.Rate
	fullIn int64 // FullIn of rate
	micros *rate.Limiter
	taken  bool // something was ever taken; until then it is full, whatever the rate
}

// newBucket returns a full bucket, or one that is empty now.
func newBucket(r teams.Rate, dry bool, now time.Time) *bucket {
	b := &bucket{rate: r, fullIn: FullIn(r)}
	b.micros = rate.NewLimiter(rate.Every(time.Microsecond), int(b.fullIn))
	if dry {
		b.take(r.Burst, now)
	}
	return b
}

// set changes the rate and keeps the bucket's level.
func (b *bucket) set(r *teams.Rate, now time.Time) {
	if *r == b.rate {
		return
	}
	missing, taken := 0.0, b.taken
	if taken {
		level := float64(b.rate.Burst) - float64(b.missing(now))*float64(b.rate.Limit)/float64(b.rate.Per.Microseconds())
		missing = math.Ceil((float64(r.Burst) - min(level, float64(r.Burst))) * float64(r.Per.Microseconds()) / float64(r.Limit))
	}
	*b = *newBucket(*r, false, now)
	b.taken = taken
	b.remove(int64(missing), now)
}

// inexact is the error of floating point, in microseconds, that is not rounded up to a whole microsecond.
const inexact = 1e-3

// missing is how many microseconds it takes to be full. An admission reads it once and uses that value.
func (b *bucket) missing(now time.Time) int64 {
	return max(int64(math.Ceil(float64(b.fullIn)-b.micros.TokensAt(now)-inexact)), 0)
}

// remove removes microseconds, down to the largest debt, and returns how many are missing then. A Limiter removes at most its
// burst in one call.
func (b *bucket) remove(micros int64, now time.Time) int64 {
	missing := b.missing(now)
	for left := min(micros, 2*b.fullIn-missing); left > 0; left -= b.fullIn {
		b.micros.ReserveN(now, int(min(left, b.fullIn)))
	}
	return min(missing+micros, 2*b.fullIn)
}

// wait returns how long it takes until n units fit, 0 when they do.
func (b *bucket) wait(n, missing int64) time.Duration {
	return micros(max(missing+Taking(b.rate, n)-b.fullIn, 0))
}

// take removes n units, into debt if there are fewer, and returns the amount missing.
func (b *bucket) take(n int64, now time.Time) int64 {
	b.taken = b.taken || n > 0
	return b.remove(Taking(b.rate, n), now)
}

// give puts n units back, never above full: a Limiter drops what is more.
func (b *bucket) give(n int64, now time.Time) {
	b.micros.ReserveN(now, -int(Giving(b.rate, n)))
}

// fill returns how full a bucket is that needs missing microseconds to refill.
func (b *bucket) fill(missing int64) Fill { return fillOf(&b.rate, b.fullIn, missing) }

// FillOf returns the content of a bucket that needs missing microseconds to refill.
func FillOf(r teams.Rate, missing int64) Fill { return fillOf(&r, FullIn(r), missing) }

func fillOf(r *teams.Rate, fullIn, missing int64) Fill {
	left := math.Floor(float64(fullIn-missing) * float64(r.Limit) / float64(r.Per.Microseconds()))
	return Fill{Left: min(int64(left), r.Burst), Full: micros(missing)}
}

// FullIn is how many microseconds it takes to refill a whole bucket, rounded up as taking is: else a request for a whole bucket
// would never fit. The scripts' forms are in buckets.lua and in moment of common.lua.
func FullIn(r teams.Rate) int64 { return int64(math.Ceil(refill(&r, r.Burst))) }

// Taking is how many microseconds it takes to refill n units, rounded up once per request, so that no rate is exceeded however
// small a unit's share of a microsecond is. Three buckets exceed any possible debt. The scripts' form is span in buckets.lua.
func Taking(r teams.Rate, n int64) int64 { return int64(math.Ceil(refill(&r, min(n, 3*r.Burst)))) }

// Giving is Taking, rounded down: what is given back.
func Giving(r teams.Rate, n int64) int64 { return int64(math.Floor(refill(&r, min(n, 3*r.Burst)))) }

func refill(r *teams.Rate, n int64) float64 {
	return float64(n) * float64(r.Per.Microseconds()) / float64(r.Limit)
}

// micros is n microseconds as a Duration, a century at most, which a Duration can hold.
func micros(n int64) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	return time.Duration(min(n, century.Microseconds())) * time.Microsecond
}

// buckets are those of one scope, by unit.
type buckets [RateCount]*bucket

// fit brings the buckets to the scope's current rates, and creates missing ones: empty if dry, else full.
func (b *buckets) fit(s *Scope, dry bool, now time.Time) {
	for i := range s.Rates {
		switch r := &s.Rates[i]; {
		case r.Limit == 0: // a bucket from before a reload stays as it is, in case the rate comes back
		case b[i] != nil:
			b[i].set(r, now)
		default:
			b[i] = newBucket(*r, dry, now)
		}
	}
}

// missing is how many microseconds each bucket takes to be full.
func (b *buckets) missing(s *Scope, now time.Time) (missing [RateCount]int64) {
	for i := range s.Rates {
		if s.Rates[i].Limit > 0 {
			missing[i] = b[i].missing(now)
		}
	}
	return missing
}

// waits is how long it takes until amounts fit.
func (b *buckets) waits(s *Scope, amounts *Amounts, missing *[RateCount]int64) (waits [RateCount]time.Duration) {
	for i := range s.Rates {
		if s.Rates[i].Limit > 0 && amounts[i] > 0 {
			waits[i] = b[i].wait(amounts[i], missing[i])
		}
	}
	return waits
}

// take takes amounts.
func (b *buckets) take(s *Scope, amounts *Amounts, missing *[RateCount]int64, now time.Time) {
	for i := range s.Rates {
		if s.Rates[i].Limit > 0 && amounts[i] > 0 {
			missing[i] = b[i].take(amounts[i], now)
		}
	}
}

func (b *buckets) fills(s *Scope, missing *[RateCount]int64) (fills [RateCount]Fill) {
	for i := range s.Rates {
		if s.Rates[i].Limit > 0 {
			fills[i] = b[i].fill(missing[i])
		}
	}
	return fills
}

// correct adjusts the buckets that a hold was taken from to what was used. A rate that a reload has added since is not changed.
func (b *buckets) correct(s *Scope, rates RateSet, held, used *Amounts, now time.Time) {
	for i := range s.Rates {
		switch {
		case s.Rates[i].Limit == 0 || !rates.Has(i):
		case used[i] > held[i]:
			b[i].take(used[i]-held[i], now)
		default:
			b[i].give(held[i]-used[i], now)
		}
	}
}
