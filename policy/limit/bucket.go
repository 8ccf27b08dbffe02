package limit

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"sluice/policy/teams"
)

// bucket is a token bucket in this process. It hides what rate.Limiter would let happen: it never takes a number below
// 0, never fills by a new rate, and its debt is at most one full refill. The caller hands in a time that never goes
// back, because a Limiter that is told an earlier one makes tokens out of the difference.
type bucket struct {
	limiter *rate.Limiter
	rate    teams.Rate
	taken   bool // something was ever taken; until then it is full, whatever the rate
}

// newBucket returns a full bucket.
func newBucket(r teams.Rate) *bucket {
	return &bucket{limiter: rate.NewLimiter(perSecond(r), int(r.Burst)), rate: r}
}

func perSecond(r teams.Rate) rate.Limit { return rate.Limit(float64(r.Limit) / r.Per.Seconds()) }

// set changes the rate and leaves in the bucket what is in it.
func (b *bucket) set(r *teams.Rate, now time.Time) {
	if *r == b.rate {
		return
	}
	if !b.taken {
		*b = *newBucket(*r)
		return
	}
	b.limiter.SetLimitAt(now, perSecond(*r))
	b.limiter.SetBurstAt(now, int(r.Burst))
	b.rate = *r
	b.forgive(now)
}

// level is what is in the bucket, below 0 in debt. An admission looks once and reckons with it.
func (b *bucket) level(now time.Time) float64 { return b.limiter.TokensAt(now) }

// wait returns how long it takes from a level until n units fit, 0 when they do.
func (b *bucket) wait(n int64, level float64) time.Duration {
	missing := float64(n) - level
	if missing <= 0 {
		return 0
	}
	seconds := missing / float64(perSecond(b.rate))
	return time.Duration(min(seconds, maxWait) * float64(time.Second)) // less than a nanosecond is rounding, not a wait
}

// maxWait is a century in seconds, which a Duration can hold.
const maxWait = 100 * 365 * 24 * 60 * 60

// take removes n units, into debt where there are fewer, and returns the level that this leaves.
func (b *bucket) take(n int64, now time.Time) (level float64) {
	b.taken = b.taken || n > 0
	for n = min(n, 3*b.rate.Burst); n > 0; n -= b.rate.Burst { // a Limiter gives no more than its burst at once
		b.limiter.ReserveN(now, int(min(n, b.rate.Burst)))
	}
	return b.forgive(now)
}

// give puts n units back, never above full: the Limiter sees to that at its next reckoning. A reservation below 0 adds;
// AllowN would not where debt remains.
func (b *bucket) give(n int64, now time.Time) {
	if n > 0 {
		b.limiter.ReserveN(now, -int(min(n, 3*b.rate.Burst)))
	}
}

// forgive cancels debt beyond one full refill, and returns the level. A Limiter moves by whole units alone, so it is a new
// one: full, and then emptied twice.
func (b *bucket) forgive(now time.Time) (level float64) {
	level = b.level(now)
	if most := -float64(b.rate.Burst); level < most {
		b.limiter = rate.NewLimiter(perSecond(b.rate), int(b.rate.Burst))
		b.limiter.ReserveN(now, int(b.rate.Burst))
		b.limiter.ReserveN(now, int(b.rate.Burst))
		level = most
	}
	return level
}

// fill says what a level means.
func (b *bucket) fill(level float64) Fill {
	missing := max(float64(b.rate.Burst)-level, 0)
	return Fill{
		Left: int64(math.Floor(level + 1e-9)), // 0.9999999999 is one unit
		Full: time.Duration(math.Ceil(missing / float64(perSecond(b.rate)) * float64(time.Second))),
	}
}
