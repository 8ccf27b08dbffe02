package quotas_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/gateway/quotas"
	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

func known() bool { return true }

// While it is not known whether a stream is open, nothing of a team's quotas counts as told: who comes later in the period is told.
func TestNothingIsToldBeforeItIsKnownWhoListens(t *testing.T) {
	clock := limittest.NewClock()
	file, err := teams.Parse([]byte("teams: [{id: search, tag_key: job, quotas: {images: {day: 10}}, tag_quotas: {images: {day: 10}}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	team := file.Team("search")
	team.Alert = []int{50}
	known, list := false, []event.Target{} // as of a stream that may be open
	force, to := func() *teams.File { return file }, func(string, event.Type, string) []event.Target { return list }
	knows := func() bool { return known }
	accounts, events := limit.NewMemory(clock.Now), event.NewMemory(event.DefaultBounds, clock.Now)
	accounts.Events, accounts.Alerts = events, quotas.AlertsOf(force, to, knows)
	watch := quotas.New(quotas.Deps{Teams: force, Balances: accounts, Outbox: events, To: to, Known: knows,
		Logger: slog.New(slog.DiscardHandler)})
	told := func(want string) {
		t.Helper()
		watch.Round(t.Context())
		all := ""
		written, _, _ := events.After(t.Context(), event.ID{Owner: "search"}, 99)
		for _, e := range written {
			scope, _, _ := strings.Cut(string(e.Data), ",")
			all += scope
		}
		if all != want {
			t.Errorf("told %s, want %s", all, want)
		}
	}
	v, err := accounts.Admit(t.Context(), &limit.Hold{ID: "a", Team: team, Tag: "night", Lease: time.Hour,
		Amounts: limit.Amounts{limit.Images: 6}})
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	if _, err := accounts.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: team, Amounts: limit.Amounts{limit.Images: 6}}); err != nil {
		t.Fatal(err)
	}
	const tag = `{"scope":"tag"` // no look finds it
	told(tag)
	known, list = true, nil
	told(tag)
	list = []event.Target{{Address: event.Address{Owner: "search", Hook: "new"}}}
	told(tag + `{"scope":"team"`)
	told(tag + `{"scope":"team"`)
}

// What was told is told no more if the outbox loses its memory and a replica starts later.
func TestAReachedQuotaOutlivesTheOutboxsMemory(t *testing.T) {
	clock := limittest.NewClock()
	file, err := teams.Parse([]byte("teams: [{id: search, quotas: {images: {day: 10}}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	team := file.Team("search")
	team.Alert = []int{50}
	to := func(string, event.Type, string) []event.Target {
		return []event.Target{{Address: event.Address{Owner: "search", Hook: "jobs"}}}
	}
	accounts := limit.NewMemory(clock.Now)
	v, err := accounts.Admit(t.Context(), &limit.Hold{ID: "a", Team: team, Lease: time.Hour, Amounts: limit.Amounts{limit.Images: 6}})
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	if _, err := accounts.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: team, Amounts: limit.Amounts{limit.Images: 6}}); err != nil {
		t.Fatal(err)
	}
	watch := func(events *event.Memory) *quotas.Watch {
		return quotas.New(quotas.Deps{Teams: func() *teams.File { return file }, Balances: accounts, Outbox: events, To: to, Known: known,
			Logger: slog.New(slog.DiscardHandler)})
	}
	told := func(events *event.Memory) int {
		list, _, _ := events.After(t.Context(), event.ID{Owner: "search"}, 99)
		return len(list)
	}
	events := event.NewMemory(event.DefaultBounds, clock.Now)
	before := watch(events)
	before.Round(t.Context())
	if told(events) != 1 {
		t.Error("it is not told")
	}
	events = event.NewMemory(event.DefaultBounds, clock.Now)
	before.Outbox = events
	for range 6 {
		before.Round(t.Context())
	}
	watch(events).Round(t.Context())
	if told(events) != 0 {
		t.Error("it is told again")
	}
}

// replica begins a replica over Redis that has all told.
func replica(t *testing.T, client redis.UniversalClient, clock *limittest.Clock, events *outbox.Outbox,
	force func() *teams.File) (*failover.Failover, *quotas.Watch) {
	t.Helper()
	to := func(owner string, of event.Type, _ string) []event.Target {
		return []event.Target{{Address: event.Address{Owner: owner, Hook: "jobs"}}}
	}
	store := redisstore.New(client)
	store.Clock, store.Now, store.Events, store.Alerts = clock.Micros, clock.Now, events, quotas.AlertsOf(force, to, known)
	accounts := failover.New(failover.Config{Store: store, Timeout: time.Minute, Replicas: 3, Now: clock.Now})
	t.Cleanup(func() { _ = accounts.Close(context.Background()) })
	return accounts, quotas.New(quotas.Deps{Teams: force, Balances: accounts, Outbox: events, To: to, Known: known,
		Logger: slog.New(slog.DiscardHandler)})
}

// allTold are the thresholds that were told, in order.
func allTold(t *testing.T, events *outbox.Outbox) string {
	t.Helper()
	var all []string
	for _, owner := range []string{"search", teams.HouseID} {
		list, _, err := events.After(t.Context(), event.ID{Owner: owner}, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			_, rest, _ := strings.Cut(string(e.Data), `"threshold":`)
			percent, _, _ := strings.Cut(rest, ",")
			all = append(all, owner+" "+percent)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Redis loses its memory right after thresholds were told, a replica restores what was used, and another begins: neither tells them again,
// and what is passed later is told.
func TestAReachedQuotaOutlivesRedissMemory(t *testing.T) {
	client, clock := limittest.RealRedis(t), limittest.NewClock()
	file, err := teams.Parse([]byte("house: {quotas: {images: {day: 10}}, alert: [50, 90]}\nteams: [{id: search, quotas: {images: {day: " +
		"10, month: 20}}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	team, force := file.Team("search"), func() *teams.File { return file }
	team.Alert = []int{50, 90}
	events := outbox.New(client, event.DefaultBounds)
	events.Clock = clock.Micros
	first, looks := replica(t, client, clock, events, force)
	use := func(id string, images int64) {
		t.Helper()
		v, err := first.Admit(t.Context(), &limit.Hold{ID: id, Team: team, Outside: limit.OutsideFor(file, ""), Lease: time.Hour,
			Amounts: limit.Amounts{limit.Images: images}})
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		if _, err := first.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: team,
			Amounts: limit.Amounts{limit.Images: images}}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(want string) {
		t.Helper()
		if got := allTold(t, events); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	_ = first.Maintain(t.Context())
	use("a", 6)
	told("@house 50, search 50")
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	second, looksToo := replica(t, client, clock, events, force)
	for range 12 {
		_ = second.Maintain(t.Context())
		looksToo.Round(t.Context())
		_ = first.Maintain(t.Context())
		looks.Round(t.Context())
		clock.Move(time.Second)
	}
	if report, err := second.Look(t.Context(), team); err != nil || report.Limits[0].Used != 6 {
		t.Fatal(report, err)
	}
	told("")
	use("b", 3)
	told("@house 90, search 90")
	use("c", 1)
	told("@house 90, search 50, search 90") // 10 of the month's 20
}

// Three replicas with 64 workers each cross a team's and the house's thresholds while each looks: each is told once, in the next period
// again, and again once the quota was raised above what is used; without a charge once the quota is lowered below that. What is only held
// is not told.
func TestAQuotaIsReachedOnce(t *testing.T) {
	client, clock := limittest.RealRedis(t), limittest.NewClock()
	parse := func(images int) *teams.File {
		file, err := teams.Parse(fmt.Appendf(nil, "house: {quotas: {images: {day: 100000}}, alert: [1]}\nteams: [{id: search, quotas: "+
			"{images: {day: %d}}}]\n", images))
		if err != nil {
			t.Fatal(err)
		}
		file.Team("search").Alert = []int{50, 80, 100}
		return file
	}
	var file atomic.Pointer[teams.File]
	file.Store(parse(1000))
	var watches [3]*quotas.Watch
	var accounts [3]*failover.Failover
	events := outbox.New(client, event.DefaultBounds)
	events.Clock = clock.Micros
	for i := range watches {
		accounts[i], watches[i] = replica(t, client, clock, events, file.Load)
	}
	var used atomic.Int64
	cross := func(each int) {
		t.Helper()
		var work sync.WaitGroup
		for i := range watches {
			for range 64 {
				work.Go(func() {
					for range each {
						hold := &limit.Hold{ID: fmt.Sprint("hold-", used.Add(1)), Team: file.Load().Team("search"),
							Outside: limit.OutsideFor(file.Load(), ""), Lease: time.Hour, Amounts: limit.Amounts{limit.Images: 1}}
						v, err := accounts[i].Admit(context.Background(), hold)
						if err != nil || v.Held == nil {
							continue // the quota is used up
						}
						_, _ = accounts[i].Settle(context.Background(), &limit.Charge{Held: v.Held, Team: hold.Team, Amounts: hold.Amounts})
					}
				})
			}
			work.Go(func() {
				for range 50 {
					watches[i].Round(context.Background())
				}
			})
		}
		work.Wait()
		for range 11 {
			for _, w := range watches {
				w.Round(context.Background())
			}
		}
	}
	giveBack := func(images int64) { // holds so many, which every replica sees, and gives them back, which they see, too
		t.Helper()
		hold := &limit.Hold{ID: fmt.Sprint("hold-", used.Add(1)), Team: file.Load().Team("search"), Outside: limit.OutsideFor(file.Load(), ""),
			Lease: time.Hour, Amounts: limit.Amounts{limit.Images: images}}
		v, err := accounts[0].Admit(t.Context(), hold)
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		cross(0)
		if _, err := accounts[0].Settle(t.Context(), &limit.Charge{Held: v.Held, Team: hold.Team}); err != nil {
			t.Fatal(err)
		}
		cross(0)
	}
	told := func(want string) {
		t.Helper()
		if got := allTold(t, events); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	cross(1)
	told("")
	giveBack(400)
	told("")
	cross(2)
	told("search 50")
	cross(4)
	told("@house 1, search 100, search 50, search 80")
	file.Store(parse(1100)) // still above each per cent but one
	cross(0)
	told("@house 1, search 100, search 50, search 80")
	file.Store(parse(2500)) // 1,000 are used: 40 %
	cross(0)
	giveBack(300)
	cross(2)
	told("@house 1, search 100, search 50, search 50, search 80")
	file.Store(parse(1500)) // it was seen below 80 % of a larger one
	cross(0)
	told("@house 1, search 100, search 50, search 50, search 80, search 80")
	clock.Move(24 * time.Hour)
	cross(0)
	told("@house 1, search 100, search 50, search 50, search 80, search 80")
	file.Store(parse(300))
	cross(3)
	told("@house 1, search 100, search 100, search 50, search 50, search 50, search 80, search 80, search 80")
}
