package redisstore

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// telling gives a form an outbox, and has the per cent of quotas told that alerts have by account.
func (f *form) telling(alerts map[string][]int) event.Outbox {
	of := f.withEvents()
	to := func(account string) (*teams.Team, []int, []event.Target, bool) {
		return nil, alerts[account], []event.Target{{Address: event.Address{Owner: "search", Hook: "jobs"}}}, true
	}
	if f.memory != nil {
		f.memory.Alerts = to
	} else {
		f.redis.Alerts = to
	}
	return of
}

// use holds and charges.
func (f *form) use(h limit.Hold, used limit.Amounts) {
	f.Helper()
	f.uses++
	h.ID = strconv.FormatInt(f.uses, 10)
	f.admit(h)
	f.settle(f.held(h), h.Team, used, false)
}

// adjust corrects what a team used of its images.
func (f *form) adjust(team *teams.Team, images int64) {
	f.Helper()
	f.uses++
	c := limit.Correction{ID: strconv.FormatInt(f.uses, 10), Team: team.ID, Unit: unit.NameImages, Delta: images, Why: "a test"}
	var err error
	if f.memory != nil {
		_, err = f.memory.Adjust(f.Context(), c)
	} else {
		_, err = f.redis.Adjust(f.Context(), c)
	}
	if err != nil {
		f.Fatal(err)
	}
}

// documented checks that docs/events.md has each of these data.
func documented(t *testing.T, data ...string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range data {
		if !strings.Contains(string(page), "\nquota.reached "+one) {
			t.Errorf("docs/events.md lacks %s", one)
		}
	}
}

// Each threshold of a quota is told by the charge that passes it: once a period, again in the next, and again if the limit was raised above
// what is used, but not if what was used became less meanwhile.
func TestAThresholdIsToldByTheChargeThatPassesIt(t *testing.T) {
	bothForms(t, func(f *form) {
		events, team := f.telling(map[string][]int{"search": {50, 100}}), limittest.Team(f, "quotas: {images: {day: 10, month: 1000}}")
		use := func(images int64) {
			f.Helper()
			f.use(limit.Hold{Team: team, Amounts: limit.Amounts{limit.Images: 1}}, limit.Amounts{limit.Images: images})
		}
		var all string
		told := func(want string) {
			f.Helper()
			if all += want; written(f, events, "search") != all {
				f.Fatalf("told %s, want %s", written(f, events, "search"), all)
			}
		}
		data := func(percent int, used, left, most int64) string {
			return fmt.Sprintf(`{"scope":"team","unit":"images","period":"day","threshold":%d,"used":%d,"left":%d,"limit":%d}`+"\n", percent, used,
				left, most)
		}
		use(4)
		told("")
		use(1)
		told(data(50, 5, 5, 10))
		documented(f.T, data(50, 5, 5, 10))
		use(1)
		told("")
		f.adjust(team, -3)
		use(2)
		told("") // it was told, at 10 of 10 the first time
		team = limittest.Team(f, "quotas: {images: {day: 20}}")
		use(4)
		told("") // 9 of 20
		use(2)
		told(data(50, 11, 9, 20))
		use(30)
		told(data(100, 41, 0, 20))
		team = limittest.Team(f, "quotas: {images: {day: 60}}")
		use(1)
		told("") // it is above half already
		f.clock.Move(24 * time.Hour)
		team = limittest.Team(f, "quotas: {images: {day: 10}}")
		use(10)
		told(data(50, 10, 0, 10) + data(100, 10, 0, 10))
	})
}

// Those of the values of a tag, of a key, of the house and of an account at the service are told likewise, by all ways in which charges are
// made, and money is written as everywhere.
func TestEveryScopeIsTold(t *testing.T) {
	for _, task := range []bool{false, true} { // batch.lua, settle.lua
		bothForms(t, func(f *form) {
			file, err := teams.Parse([]byte("currency: CNY\nhouse: {quotas: {spend: {day: 100}}, alert: [50]}\nteams:\n  - id: search\n    " +
				"tag_key: project\n    tag_quotas: {spend: {month: 3.5}}\n" +
				"    quotas: {requests: {month: 4}}\n    keys: [{id: k1k1k1k1k1k1, sha256: " + strings.Repeat("a", 64) +
				", quotas: {images: {day: 9}}}]\n"))
			if err != nil {
				f.Fatal(err)
			}
			account := &teams.Team{ID: teams.AccountQuotasID("second"),
				Quotas: []teams.Quota{{Unit: unit.NameTokens, Period: teams.PeriodDay, Limit: 1000}}}
			if f.redis != nil {
				f.redis.Now = f.clock.Now // else no charge is made in a batch
			}
			events := f.telling(map[string][]int{"search": {50}, teams.HouseID: {50}, account.ID: {90}})
			for n := range 3 {
				used := limit.Amounts{1, 300, 3, 20_123_000_001}
				for _, of := range []*teams.Team{file.Team("search"), file.House.Account, account} {
					h := limit.Hold{Team: of, Task: task, Amounts: limit.Amounts{1}}
					if of.ID == "search" {
						h.Tag, h.Key = "alpha", "k1k1k1k1k1k1"
						if n == 1 {
							h.Tag = "beta"
						}
					}
					f.use(h, used)
				}
			}
			for owner, want := range map[string]string{
				"search": `{"scope":"tag","id":"alpha","unit":"spend","period":"month","threshold":50,"used":20.123000001,"left":0,"limit":3.5}
{"scope":"team","unit":"requests","period":"month","threshold":50,"used":2,"left":2,"limit":4}
{"scope":"tag","id":"beta","unit":"spend","period":"month","threshold":50,"used":20.123000001,"left":0,"limit":3.5}
{"scope":"key","id":"k1k1k1k1k1k1","unit":"images","period":"day","threshold":50,"used":6,"left":3,"limit":9}
`,
				teams.HouseID: `{"scope":"house","unit":"spend","period":"day","threshold":50,"used":60.369000003,"left":39.630999997,` +
					`"limit":100}` + "\n",
				account.ID: `{"scope":"account","id":"second","unit":"tokens","period":"day","threshold":90,"used":900,"left":100,"limit":1000}` + "\n",
			} {
				if got := written(f, events, owner); got != want {
					f.Errorf("of %s was told\n%swant\n%s", owner, got, want)
				}
				if owner != account.ID {
					lines := strings.SplitAfter(want, "\n")
					documented(f.T, lines[len(lines)-2])
				}
			}
		})
	}
}

// What is told of the house is for the operators' hooks, which get it from the account that was charged.
func TestTheOperatorsGetWhatIsToldOfTheHouse(t *testing.T) {
	bothForms(t, func(f *form) {
		ops := event.Address{Owner: event.Operators, Hook: "ops"}
		events := f.withEvents()
		to := func(string) (*teams.Team, []int, []event.Target, bool) {
			return nil, []int{50}, []event.Target{{Address: ops}}, true
		}
		house := &teams.Team{ID: teams.HouseID, Quotas: []teams.Quota{{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 10}}}
		if f.memory != nil {
			f.memory.Alerts = to
		} else {
			f.redis.Alerts = to
			if err := f.redis.List(t.Context(), house.ID); err != nil {
				f.Fatal(err)
			}
		}
		f.use(limit.Hold{Team: house, Amounts: limit.Amounts{limit.Images: 6}}, limit.Amounts{limit.Images: 6})
		if f.client != nil { // as if the reply had been lost before the index knew of it
			f.client.Del(t.Context(), "sl1:due")
		}
		list, _, err := events.Due(context.Background(), event.Rooms{Hooks: map[event.Address]event.Room{ops: {Most: 9}}}, 9)
		if err != nil || len(list) != 1 || strings.Contains(string(list[0].Event.Bytes()), `"team"`) {
			f.Fatal(list, err)
		}
		listed, err := events.Deliveries(t.Context(), event.Operators, event.ID{}, 9)
		if err != nil || len(listed) != 1 {
			f.Error(listed, err)
		}
		if err := events.Again(t.Context(), list[0].Event.ID); err != nil {
			f.Error(err)
		}
	})
}

// Of a day that knows a thousand values of a tag, further ones count together, and what is told of them is by that.
func TestFurtherValuesOfATagAreToldTogether(t *testing.T) {
	bothForms(t, func(f *form) {
		team := limittest.Team(f, "tag_key: project", "tag_quotas: {images: {day: 4, month: 5}}")
		events := f.telling(map[string][]int{"search": {100}})
		use := func(tag string) {
			f.Helper()
			f.use(limit.Hold{Team: team, Tag: tag, Amounts: limit.Amounts{limit.Requests: 1}}, limit.Amounts{1, 0, 2})
		}
		for n := range 1000 {
			use(fmt.Sprint("tag", n))
		}
		use("x1")
		use("x2")
		use("tag7")
		use("x3")
		want := `{"scope":"tag","id":"x2","unit":"images","period":"day","threshold":100,"used":4,"left":0,"limit":4}
{"scope":"tag","id":"tag7","unit":"images","period":"day","threshold":100,"used":4,"left":0,"limit":4}
{"scope":"tag","id":"x3","unit":"images","period":"month","threshold":100,"used":6,"left":0,"limit":5}
`
		if got := written(f, events, "search"); got != want {
			f.Errorf("told\n%swant\n%s", got, want)
		}
	})
}
