package failover

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// lossWorld is two replicas whose Redis forgets, or goes back.
type lossWorld struct {
	*tagWorld
	*testing.T
	back func()    // to an older copy
	made time.Time // when that was made
	n    int
	days map[int]map[string][2]int64 // the truth: what each value, or key, used and holds, by day
	kind limit.ScopeKind             // what is limited: the values of the tag, or the keys
}

// TestTagUseThroughLosses: after Redis has forgotten everything, or gone back to an older copy, it knows what each value used and holds
// as the replicas do.
func TestTagUseThroughLosses(t *testing.T) {
	useThroughLosses(t, limit.ScopeTag, "tag_key: project", "tag_quotas: {tokens: {day: 12, month: 30}}")
}

// TestKeyUseThroughLosses: the same of keys.
func TestKeyUseThroughLosses(t *testing.T) {
	lines := []string{"keys:"}
	for i, id := range []string{"aaaaaaaaaaaa", "bbbbbbbbbbbb"} {
		lines = append(lines, fmt.Sprintf("  - {id: %s, sha256: \"%064x\", quotas: {tokens: {day: 12, month: 30}}}", id, i+1))
	}
	useThroughLosses(t, limit.ScopeKey, lines...)
}

func useThroughLosses(t *testing.T, kind limit.ScopeKind, lines ...string) {
	client := limittest.RealRedis(t)
	rapid.Check(t, func(rt *rapid.T) {
		client.FlushDB(t.Context())
		w := &lossWorld{tagWorld: newTagWorld(t, client, ""), T: t, days: map[int]map[string][2]int64{}, kind: kind}
		w.team = limittest.Team(t, append(lines, rapid.SampledFrom([]string{"", "quotas: {tokens: {day: 100000}}"}).Draw(rt, "quotas"))...)
		for _, s := range w.replicas {
			s.Store.Now = s.clock.Now // a clock that jumps back by a day would hide a loss; Go's do not
		}
		defer w.close()
		rt.Repeat(map[string]func(*rapid.T){
			"":       w.compare,
			"admit":  w.admit,
			"settle": w.settle,
			"copy": func(*rapid.T) {
				w.maintain(t)
				w.back, w.made = limittest.Copy(t, client), w.replicas[0].clock.Now()
				w.maintain(t)
			},
			"forget": func(*rapid.T) {
				w.maintain(t)
				client.FlushDB(t.Context())
				w.recover()
			},
			"older": func(rt *rapid.T) {
				if w.replicas[0].clock.Now().Sub(w.made) > time.Minute { // ids of settled holds are forgotten after two
					rt.Skip()
				}
				w.maintain(t)
				w.back()
				w.recover()
			},
			"day": func(*rapid.T) { w.replicas[0].clock.Move(24 * time.Hour); w.maintain(t) },
		})
	})
}

func (w *lossWorld) recover() {
	w.made = time.Time{}
	for range 3 {
		for _, s := range w.replicas {
			_ = s.Maintain(w.Context())
			s.clock.Move(time.Second)
		}
	}
}

func (w *lossWorld) truthOf(day int) map[string][2]int64 {
	if w.days[day] == nil {
		w.days[day] = map[string][2]int64{}
	}
	return w.days[day]
}

func (w *lossWorld) admit(rt *rapid.T) {
	s := w.replicas[rapid.IntRange(0, 1).Draw(rt, "replica")]
	tag := rapid.SampledFrom(map[limit.ScopeKind][]string{limit.ScopeTag: {"", "a", "b"},
		limit.ScopeKey: {"aaaaaaaaaaaa", "bbbbbbbbbbbb"}}[w.kind]).Draw(rt, "name")
	n := rapid.Int64Range(1, 9).Draw(rt, "tokens")
	w.n++
	h := hold(strconv.Itoa(w.n), w.team, limit.Amounts{limit.Requests: 1, limit.Tokens: n})
	if h.Task, h.Lease = true, 10000*time.Hour; w.kind == limit.ScopeTag { // a task: another replica may settle it
		h.Tag = tag
	} else {
		h.Key = tag
	}
	date, month := limit.CalendarOf(s.clock.Now()), int64(0)
	for day, of := range w.days {
		if day/100 == date.Month {
			month += of[tag][0] + of[tag][1]
		}
	}
	is := w.truthOf(date.Day)[tag]
	fits := is[0]+is[1]+n <= 12 && month+n <= 30
	v, err := s.Failover.Admit(w.Context(), &h)
	if err != nil || (v.Held != nil) != fits {
		rt.Fatalf("%d for %q: %+v, %v; it fits: %v (%v, month %d)", n, tag, v, err, fits, is, month)
	}
	if fits {
		w.open = append(w.open, v.Held)
		w.truthOf(date.Day)[tag] = [2]int64{is[0], is[1] + n}
	}
}

func (w *lossWorld) settle(rt *rapid.T) {
	if len(w.open) == 0 {
		rt.Skip()
	}
	i := rapid.IntRange(0, len(w.open)-1).Draw(rt, "which")
	h := w.open[i]
	w.open = append(w.open[:i], w.open[i+1:]...)
	used := rapid.Int64Range(0, h.Amounts[limit.Tokens]).Draw(rt, "used")
	s := w.replicas[rapid.IntRange(0, 1).Draw(rt, "replica")]
	if _, err := s.Failover.Settle(w.Context(), &limit.Charge{Held: h, Team: w.team,
		Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: used}}); err != nil {
		rt.Fatal(err)
	}
	of := w.truthOf(h.Day)
	name := h.Inner(w.kind).Name()
	of[name] = [2]int64{of[name][0] + used, of[name][1] - h.Amounts[limit.Tokens]}
}

func (w *lossWorld) compare(rt *rapid.T) {
	at := w.replicas[0].clock.Now()
	want, got := map[string]string{}, map[string]string{}
	list, err := w.replicas[0].LookInside(w.Context(), w.team, w.kind, at)
	if err != nil {
		rt.Fatal(err)
	}
	for _, s := range list {
		if s.Used+s.Held != 0 {
			got[s.Of+" "+s.Name()] = fmt.Sprint(s.Used, s.Held)
		}
	}
	date := limit.CalendarOf(at)
	month := map[string][2]int64{}
	for day, of := range w.days {
		for tag, is := range of {
			if day == date.Day && is[0]+is[1] != 0 {
				want[tag+" tokens-day-"+w.kind.String()] = fmt.Sprint(is[0], is[1])
			}
			if day/100 == date.Month {
				month[tag] = [2]int64{month[tag][0] + is[0], month[tag][1] + is[1]}
			}
		}
	}
	for tag, is := range month {
		if is[0]+is[1] != 0 {
			want[tag+" tokens-month-"+w.kind.String()] = fmt.Sprint(is[0], is[1])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("(-truth +Redis):\n%s", diff)
	}
}
