package notices_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/notices"
	"sluice/policy/account"
	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

// replica is what one process sees.
type replica struct {
	*notices.Watch
	standing account.Standing
	fault    string
}

// world has three replicas that share an outbox, and a clock.
type world struct {
	*testing.T
	clock    *limittest.Clock
	events   event.Outbox
	file     *teams.File
	minutes  []recent.Minute
	replicas [3]*replica
	away     bool
	told     string
	unknown  bool // whether streams are open
	deaf     bool // there are no hooks
}

// Once fails while the world's outbox is away.
func (w *world) Once(ctx context.Context, n event.Name, d *event.Draft) (bool, error) {
	if w.away {
		return false, errors.New("away")
	}
	return w.events.(notices.Outbox).Once(ctx, n, d)
}

// worlds runs a test over both forms of the outbox.
func worlds(t *testing.T, test func(w *world)) {
	t.Run("memory", func(t *testing.T) {
		w := &world{T: t, clock: limittest.NewClock()}
		w.events = event.NewMemory(event.Kept(90*24*time.Hour), w.clock.Now)
		test(w.start())
	})
	t.Run("redis", func(t *testing.T) {
		w := &world{T: t, clock: limittest.NewClock()}
		of := outbox.New(limittest.RealRedis(t), event.Kept(90*24*time.Hour))
		of.Clock, w.events = w.clock.Micros, of
		test(w.start())
	})
}

func (w *world) start() *world {
	w.file = &teams.File{}
	for i := range w.replicas {
		w.restart(i)
	}
	return w
}

// restart has a replica forget everything.
func (w *world) restart(i int) {
	r := &replica{standing: account.Standing{ID: "main", State: account.OK}}
	r.Watch = notices.New(notices.Config{
		Outbox: w, Now: w.clock.Now, Teams: func() *teams.File { return w.file },
		To: func(owner string, _ event.Type, _ string) []event.Target {
			if w.deaf {
				return []event.Target{} // a stream is open, or may be
			}
			return []event.Target{{Address: event.Address{Owner: owner, Hook: "jobs"}}}
		},
		Known:     func() bool { return !w.unknown },
		Standings: func() []account.Standing { return []account.Standing{r.standing} },
		Faults:    func() []notices.Fault { return []notices.Fault{{Source: "file", Text: r.fault}} },
		Minutes: func(_ context.Context, _ []string, from, to time.Time) (list []recent.Minute, err error) {
			for _, m := range w.minutes {
				if !m.At.Before(from) && m.At.Before(to) {
					list = append(list, m)
				}
			}
			return list, nil
		},
	})
	w.replicas[i] = r
}

// pass lets time pass, with a round of all replicas each 5 s, at once.
func (w *world) pass(d time.Duration) {
	w.Helper()
	for range max(d/(5*time.Second), 1) {
		w.clock.Move(5 * time.Second)
		var rounds sync.WaitGroup
		for _, r := range w.replicas {
			rounds.Go(func() { r.Round(w.Context()) })
		}
		rounds.Wait()
	}
}

// tells checks what owners were told since the last check: "type data", one a line.
func (w *world) tells(owner string, want ...string) {
	w.Helper()
	list, _, err := w.events.After(w.Context(), event.ID{Owner: owner}, 1000)
	if err != nil {
		w.Fatal(err)
	}
	var all string
	for _, e := range list {
		all += string(e.Type) + " " + string(e.Data) + "\n"
	}
	for _, line := range want {
		w.told += line + "\n"
	}
	if all != w.told {
		w.Fatalf("told\n%swant\n%s", all, w.told)
	}
}

// example checks that docs/events.md has an event as it is.
func example(t *testing.T, line string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n"+line+"\n") {
		t.Errorf("docs/events.md lacks\n%s", line)
	}
}

// An account that is out is told once, whichever replica hears of it when, also if one restarts; so is that it is back; and the next
// outage is another.
func TestAnAccountThatIsOutIsToldOnce(t *testing.T) {
	worlds(t, func(w *world) {
		begin := w.clock.Now()
		refused := func(i int, at time.Time) {
			w.replicas[i].standing = account.Standing{ID: "main", State: account.Out, Why: "Arrearage", Since: at}
		}
		works := func(i int) {
			w.replicas[i].standing = account.Standing{ID: "main", State: account.OK, Worked: w.clock.Now()}
		}
		out := func(at time.Time) string {
			return `account.out {"account":"main","reason":"Arrearage","since":"` + at.UTC().Format("2006-01-02T15:04:05.000Z") + `"}`
		}
		const back = `account.back {"account":"main"}`
		for i := range w.replicas {
			works(i)
		}
		w.pass(2 * time.Minute)
		w.tells(event.Operators)
		first := w.clock.Now()
		refused(0, first)
		w.away = true
		w.pass(time.Minute)
		w.away = false
		w.pass(time.Minute)
		w.tells(event.Operators, out(first))
		example(w.T, out(first))
		example(w.T, back)
		refused(1, w.clock.Now())
		w.pass(2 * time.Minute)
		w.tells(event.Operators)
		w.restart(0) // it knows of nothing, and the last to see it work does not know that it is out
		w.pass(2 * time.Minute)
		w.tells(event.Operators)
		works(0)
		w.pass(2 * time.Minute)
		w.tells(event.Operators, back)
		works(1)
		w.pass(2 * time.Minute)
		w.tells(event.Operators)
		again := w.clock.Now()
		refused(2, again)
		w.pass(2 * time.Minute)
		w.tells(event.Operators, out(again))
		if again.Sub(begin) > time.Hour {
			w.Fatal("the clock")
		}
	})
}

// Faulty files are told once, until they are whole, and then again.
func TestFaultyFilesAreToldOnce(t *testing.T) {
	worlds(t, func(w *world) {
		const line = `teams.faulty {"source":"file","fault":"SLUICE_TEAMS_FILE: line 3: teams[0].rates: got \"many\", allowed: a mapping"}`
		all := func(text string) {
			for _, r := range w.replicas { // one after another, as each polls
				r.fault = text
				w.pass(5 * time.Second)
			}
			w.pass(3 * time.Minute)
		}
		all("")
		w.tells(event.Operators)
		for range 2 {
			all(`SLUICE_TEAMS_FILE: line 3: teams[0].rates: got "many", allowed: a mapping`)
			w.tells(event.Operators, line)
			all("")
			w.tells(event.Operators)
		}
		example(w.T, line)
	})
}

// A key is told of seven days and one day before it expires, once each, and again if it was prolonged; one that is disabled is not.
func TestAKeyThatExpiresIsTold(t *testing.T) {
	worlds(t, func(w *world) {
		const day = 24 * time.Hour
		expires := w.clock.Now().Add(10 * day)
		key := &teams.Key{ID: "8yhndrgynll4", Expires: expires}
		w.file.List = []*teams.Team{{ID: "search", Keys: []teams.Key{*key, {ID: "other"}, {ID: "off", Expires: expires, Disabled: true}}}}
		line := func(days string) string {
			return `key.expiring {"key":"8yhndrgynll4","expires":"` + w.file.List[0].Keys[0].Expires.UTC().
				Format(time.RFC3339) + `","days":` + days + `}`
		}
		wait := func(d time.Duration) {
			w.clock.Move(d)
			w.pass(time.Minute)
		}
		wait(2 * day)
		w.tells("search")
		wait(day)
		w.tells("search", line("7"))
		example(w.T, line("7"))
		w.restart(1)
		wait(5 * day)
		w.tells("search")
		wait(day)
		w.tells("search", line("1"))
		w.file.List[0].Keys[0].Expires = expires.Add(9 * day)
		wait(day)
		w.tells("search")
		wait(3 * day)
		w.tells("search", line("7"))
		wait(20 * day)
		w.tells("search") // no replica looked in its last day
	})
}

// While it is not known whether a stream is open, nothing counts as told.
func TestNothingIsToldBeforeItIsKnownWhoListens(t *testing.T) {
	worlds(t, func(w *world) {
		w.file.List = []*teams.Team{{ID: "search", Keys: []teams.Key{{ID: "8yhndrgynll4", Expires: w.clock.Now().Add(24 * time.Hour)}}}}
		w.unknown, w.deaf = true, true
		for range 7 {
			m := recent.Minute{Team: "search", At: w.clock.Now().Truncate(time.Minute)}
			m.Requests, m.Refusals = 10, map[string]int64{"admit/rate": 10}
			w.minutes = append(w.minutes, m)
			w.pass(time.Minute)
		}
		w.tells("search")
		w.unknown = false
		w.pass(time.Minute)
		if list, _, _ := w.events.After(w.Context(), event.ID{Owner: "search"}, 9); len(list) != 2 {
			w.Errorf("%d events, want of a key that expires and of a starved team", len(list))
		}
	})
}

// A team of which most requests were refused in each of five minutes is told so once, until that ends.
func TestAStarvedTeamIsTold(t *testing.T) {
	worlds(t, func(w *world) {
		w.file.List = []*teams.Team{{ID: "search"}, {ID: "idle"}}
		minutes := func(n int, requests, refused int64) {
			for range n {
				m := recent.Minute{Team: "search", At: w.clock.Now().Truncate(time.Minute)}
				m.Requests, m.Refusals = requests, map[string]int64{"admit/rate": refused - refused/4, "throttle/rate": refused / 4}
				w.minutes = append(w.minutes, m)
				w.pass(time.Minute)
			}
		}
		const line = `rate.starved {"minutes":5,"requests":50,"refused":30,"reason":"admit/rate"}`
		minutes(6, 10, 5) // half
		w.tells("search")
		minutes(4, 10, 6)
		minutes(1, 10, 5)
		minutes(4, 10, 6)
		w.tells("search")
		minutes(4, 10, 6)
		w.tells("search", line)
		w.restart(2)
		minutes(10, 10, 6)
		w.tells("search")
		minutes(1, 10, 0)
		minutes(4, 10, 6)
		w.tells("search")
		minutes(3, 10, 6)
		w.tells("search", line)
		w.pass(10 * time.Minute) // the team sends no requests
		minutes(8, 10, 6)
		w.tells("search", line)
		example(w.T, line)
	})
}
