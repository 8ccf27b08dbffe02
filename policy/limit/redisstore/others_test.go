package redisstore

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// monthOf is the month's quota of tokens of each part in these tests.
const monthOf = 50

// namedDays is what parts of a team used, by day: under its own name, or, of those that came after a day's first thousand, together.
type namedDays struct {
	tags  bool
	known map[string]bool // on the day that runs
	full  bool            // it has a thousand names
	days  []map[string]int64
}

// month is what a part used at most: of a day that did not know it, what all of those together used.
func (m *namedDays) month(name string) (sum int64) {
	for i, day := range m.days {
		if _, known := day[name]; known || !m.tags || i == len(m.days)-1 && (m.known[name] || !m.full) {
			sum += day[name]
		} else {
			sum += day[limit.Other]
		}
	}
	return sum
}

func (m *namedDays) use(name string, n int64) {
	today := m.days[len(m.days)-1]
	if m.known[name] || !m.full || !m.tags {
		m.known[name] = true
		today[name] += n
		return
	}
	today[limit.Other] += n
}

// A value of a tag, or a key, never passes its month, whether or not it comes before a thousand others on a day. A key with quotas in the
// teams file is never one of the others. What a value used as one of them is not told apart: it counts as all of theirs.
func TestNoMonthIsPassedAmongOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes thousands of holds, one after the other")
	}
	for kind, lines := range map[string][]string{
		"tag": {"tag_key: project", fmt.Sprintf("tag_quotas: {tokens: {month: %d}}", monthOf)},
		"key": {keyLines(fmt.Sprintf(", quotas: {tokens: {month: %d}}", monthOf), fmt.Sprintf(", quotas: {tokens: {month: %d}}", monthOf))},
	} {
		t.Run(kind, func(t *testing.T) {
			forms(t, func(f *form) {
				team, seed := limittest.Team(f, lines...), rand.Uint64()
				f.Logf("seed %d", seed)
				m, r := &namedDays{tags: kind == "tag"}, rand.New(rand.NewPCG(seed, 0))
				used := map[string]int64{}
				for day := range 3 {
					m.days, m.known, m.full = append(m.days, map[string]int64{}), map[string]bool{}, false
					fills := r.IntN(6)
					for step := range 12 {
						if step == fills {
							fillNames(f, team, m)
						}
						name, n := []string{keyOne, keyTwo}[r.IntN(2)], 1+r.Int64N(12)
						h := namedHold(fmt.Sprint("d", day, "s", step), name, team, m.tags, n)
						fits := m.month(name)+n <= monthOf
						v := f.ask(h)
						if fits != (v.Held != nil) {
							f.Fatalf("day %d, step %d: %s used %d of its month, asked %d: %+v; %v", day, step, name, m.month(name), n, v, m.days)
						}
						if !fits {
							continue
						}
						if m.use(name, n); r.IntN(2) == 0 {
							f.charge(v.Held, team, h.Amounts)
						}
						if used[name] += n; used[name] > monthOf {
							f.Fatalf("%s passed its month: %d", name, used[name])
						}
					}
					f.clock.Move(24 * time.Hour)
				}
			})
		})
	}
}

// fillNames uses a thousand names on the day that runs.
func fillNames(f *form, team *teams.Team, m *namedDays) {
	f.Helper()
	var all []*limit.Charge
	for n := range 1000 - len(m.known) {
		h := namedHold(fmt.Sprint("n", len(m.days), "-", n), fmt.Sprint("jwt", n), team, m.tags, 0)
		all = append(all, &limit.Charge{Held: f.ask(h).Held, Team: team, Amounts: h.Amounts})
	}
	for _, c := range all {
		f.charge(c.Held, team, c.Amounts)
	}
	m.full = true
}

func namedHold(id, name string, team *teams.Team, tag bool, tokens int64) limit.Hold {
	h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Tokens: tokens})
	if tag {
		h.Tag = name
	} else {
		h.Key = name
	}
	return h
}
