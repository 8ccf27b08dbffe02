package failover

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// story is one history of up to three replicas and their Redis. It can be written as text.
type story struct {
	start    string        // a key of starts
	replicas int           // that run
	told     int           // the number of replicas that each is configured with: REPLICAS
	skew     time.Duration // of B's clock
	acts     []act
}

// act is one step of a story.
type act struct {
	do    verb
	who   string // replicas by letter: "AC" is A and C
	kind  string // a key of kinds
	times int
	truth string // of a settlement
	guess bool   // its use stays uncertain
	hurry bool   // the following acts happen before the settlement is sent
	lets  passage
	calls int // for how many calls the passage lasts; 0: until the next change
	wait  time.Duration
	limit string // a key of editions
}

type verb string

// The verbs of a story.
const (
	rests      verb = "" // nothing: shrinking leaves it in place of an act that does not matter
	asks       verb = "asks"
	settles    verb = "settles"
	takesOver  verb = "takes over" // settles a task that another replica made
	repeats    verb = "repeats"    // settles a settled task again
	extends    verb = "extends"
	passes     verb = "passes"
	fares      verb = "fares"
	arrives    verb = "arrives" // late calls do
	maintains  verb = "maintains"
	watches    verb = "maintains every 3s for 11m"
	looks      verb = "looks"
	dies       verb = "dies"
	restarts   verb = "restarts"
	reads      verb = "reads" // another edition of the limits
	forgets    verb = "forgets"
	saves      verb = "saves"
	rollsBack  verb = "rolls back"
	everywhere      = "ABC"
)

// passage is how a replica's calls of Redis fare.
type passage string

// The passages. All but the first fail the call, some immediately and some at its timeout.
const (
	works      passage = "work"
	isSlow     passage = "work, and take 100ms"
	isAway     passage = "are not made: Redis is known to be away"
	isRefused  passage = "are refused a connection"
	isCut      passage = "are cut off in the middle"
	neverGoes  passage = "time out and never arrive"
	isLate     passage = "time out and arrive late"
	neverComes passage = "are executed and their replies are lost"
)

// starts are the moments at which a story may begin, in UTC.
var starts = map[string]time.Time{
	"at noon":                      time.Date(2000, 1, 15, 12, 0, 0, 0, time.UTC),
	"20s before midnight":          time.Date(2000, 1, 15, 23, 59, 40, 0, time.UTC),
	"8m before midnight":           time.Date(2000, 1, 15, 23, 52, 0, 0, time.UTC),
	"20s before the month is over": time.Date(2000, 1, 31, 23, 59, 40, 0, time.UTC),
}

// stories draws histories with some of the verbs only. Several short lists shrink further than one long list.
func stories(menu ...verb) *rapid.Generator[story] {
	acts := rapid.SliceOfN(actsOf(menu), 0, 12)
	return rapid.Custom(func(t *rapid.T) story {
		return story{
			start: rapid.SampledFrom([]string{"at noon", "20s before midnight", "8m before midnight", "20s before the month is over"}).
				Draw(t, "start"),
			replicas: rapid.SampledFrom([]int{1, 2, 3, 3, 3}).Draw(t, "replicas"),
			told:     rapid.SampledFrom([]int{3, 3, 1, 2, 5}).Draw(t, "told"),
			skew:     rapid.SampledFrom([]time.Duration{0, 0, -90 * time.Second, 90 * time.Second}).Draw(t, "skew"),
			acts:     slices.Concat(acts.Draw(t, "first"), acts.Draw(t, "second"), acts.Draw(t, "third"), acts.Draw(t, "fourth")),
		}
	})
}

func actsOf(menu []verb) *rapid.Generator[act] {
	return rapid.Custom(func(t *rapid.T) act {
		a := act{do: rapid.SampledFrom(menu).Draw(t, "do")}
		if slices.Contains([]verb{asks, fares, reads}, a.do) {
			a.who = rapid.SampledFrom([]string{"A", "B", "C", "AB", "BC", everywhere, everywhere}).Draw(t, "who")
		} else {
			a.who = rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "who")
		}
		a.draw(t)
		return a
	})
}

// draw draws what the verb needs, and nothing else, so that shrinking has little to try.
func (a *act) draw(t *rapid.T) {
	switch a.do {
	case asks:
		a.kind = rapid.SampledFrom(slices.Sorted(maps.Keys(kinds))).Draw(t, "kind")
		a.times = rapid.SampledFrom([]int{1, 5, 20}).Draw(t, "times")
	case settles, takesOver:
		a.times = rapid.SampledFrom([]int{1, 5, 50}).Draw(t, "times")
		a.truth = rapid.SampledFrom([]string{"all", "nothing", "half", "more"}).Draw(t, "truth")
		a.guess = rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "guess")
		a.hurry = rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "hurry")
	case passes:
		a.wait = rapid.SampledFrom([]time.Duration{
			time.Millisecond, 100 * time.Millisecond, time.Second, time.Second, 5 * time.Second, 11 * time.Second, time.Minute, 5 * time.Minute,
			11 * time.Minute, 20 * time.Minute,
		}).Draw(t, "wait")
	case fares:
		a.lets = rapid.SampledFrom([]passage{works, works, isAway, isRefused, isCut, neverGoes, isLate, neverComes, isSlow}).Draw(t, "lets")
		a.calls = rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "calls")
	case reads:
		a.limit = rapid.SampledFrom([]string{"as it was", "half", "double", "requests only"}).Draw(t, "limit")
	}
}

// GoString writes the story as rapid shows it.
func (s story) GoString() string {
	var b strings.Builder
	fmt.Fprintf(&b, "it begins %s with %d replicas, each told of %d; B's clock is off by %v", s.start, s.replicas, s.told, s.skew)
	for i, a := range s.acts {
		fmt.Fprintf(&b, "\n%6d. %s", i+1, a)
	}
	return b.String()
}

// String is the act as a sentence.
func (a act) String() string {
	who := strings.Join(strings.Split(a.who, ""), ", ")
	switch a.do {
	case asks:
		return fmt.Sprintf("%s: asks %d× for %s", who, a.times, a.kind)
	case settles, takesOver:
		text := fmt.Sprintf("%s: %s up to %d, of which %s was used", who, a.do, a.times, a.truth)
		if a.guess {
			text += ", as far as can be told"
		}
		if a.hurry {
			text += ", and at the same moment:"
		}
		return text
	case passes:
		return fmt.Sprintf("%v pass", a.wait)
	case fares:
		if a.calls > 0 {
			return fmt.Sprintf("%s: the next %d calls of Redis %s", who, a.calls, a.lets)
		}
		return fmt.Sprintf("%s: calls of Redis %s", who, a.lets)
	case reads:
		return fmt.Sprintf("%s: reads limits, %s", who, a.limit)
	case forgets, saves, rollsBack:
		return fmt.Sprintf("Redis %s", a.do)
	}
	return fmt.Sprintf("%s: %s", who, a.do)
}
