package failover

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failure is the reason why a story ended early.
type failure string

// promise is the first word of a failure: the name of the broken promise.
func (f failure) promise() string { return strings.SplitN(string(f), ":", 2)[0] }

// play runs a story in a bubble with its own clock. It returns the failure, empty for none, and the log of the story.
func (s story) play(t *testing.T) (why failure, seen []string) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s)
		defer w.close()
		defer func() {
			seen = w.seen
			if p := recover(); p != nil {
				failed, ok := p.(failure)
				if !ok {
					panic(p)
				}
				why = failed
			}
		}()
		w.start()
		w.run()
		w.heal()
	})
	return why, seen
}

// shrink returns the shortest story that it finds to break the same promise. It leaves out whole acts, which rapid, whose
// input is numbers, seldom does.
func (s story) shrink(t *testing.T, why failure, within time.Duration) story {
	until := time.Now().Add(within)
	fails := func(other story) bool {
		if time.Now().After(until) {
			return false
		}
		now, _ := other.play(t)
		return now.promise() == why.promise()
	}
	for before := ""; before != fmt.Sprintf("%#v", s); {
		before = fmt.Sprintf("%#v", s)
		for size := max(len(s.acts)/2, 1); size >= 1; size /= 2 {
			for at := 0; at+size <= len(s.acts); {
				shorter := s
				shorter.acts = slices.Delete(slices.Clone(s.acts), at, at+size)
				if fails(shorter) {
					s = shorter
				} else {
					at += size
				}
			}
		}
		for _, plainer := range s.plainer() {
			if other := plainer(s); fmt.Sprintf("%#v", other) != fmt.Sprintf("%#v", s) && fails(other) {
				s = other
			}
		}
	}
	return s
}

// plainer returns simpler variants of a story.
func (s story) plainer() (ways []func(story) story) {
	ways = append(ways,
		func(s story) story { s.skew = 0; return s },
		func(s story) story { s.start = "at noon"; return s },
		func(s story) story { s.replicas = min(s.replicas, 2); return s },
		func(s story) story { s.replicas = 1; return s },
		func(s story) story { s.told = s.replicas; return s },
	)
	for i := range s.acts {
		change := func(how func(a *act)) {
			ways = append(ways, func(s story) story {
				s.acts = slices.Clone(s.acts)
				how(&s.acts[i])
				return s
			})
		}
		change(func(a *act) { a.guess = false })
		change(func(a *act) { a.hurry = false })
		change(func(a *act) { a.calls = 0 })
		change(func(a *act) {
			if a.truth != "" {
				a.truth = "all"
			}
		})
		for n := range s.acts[i].who {
			change(func(a *act) {
				if n < len(a.who) && len(a.who) > 1 {
					a.who = a.who[:n] + a.who[n+1:]
				}
			})
		}
		for _, d := range []time.Duration{time.Second, 11 * time.Second, time.Minute} {
			change(func(a *act) { a.wait = min(a.wait, d) })
		}
		for _, n := range []int{1, 5} {
			change(func(a *act) { a.times = min(a.times, n) })
		}
	}
	return ways
}

// report prints a story and its log for the developer who fixes the fault.
func (s story) report(why failure, seen []string) string {
	return fmt.Sprintf("%s\nthe story: %#v\nwhat was seen:\n    %s", why, s, strings.Join(seen, "\n    "))
}
