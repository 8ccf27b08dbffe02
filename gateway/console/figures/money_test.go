package figures

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/gateway/admin"
	"sluice/gateway/console/access"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/price"
	"sluice/policy/unit"
)

// TestTotalsAreThoseOfSluiceUsage compares Money with the report of sluice usage, for random ledgers, in both forms of the
// accounts: every row, every day and the total, in all ways to add up, for every role, with corrections, tags, and requests
// without a model. Then more is charged, also to days that were already read. The team's page and Now show the same.
func TestTotalsAreThoseOfSluiceUsage(t *testing.T) {
	for _, redis := range []bool{false, true} {
		t.Run(fmt.Sprintf("redis=%v", redis), func(t *testing.T) {
			t.Parallel()
			var client goredis.UniversalClient
			if redis {
				client = limittest.RealRedis(t)
			}
			rapid.Check(t, func(rt *rapid.T) {
				s := standOn(t, client)
				defer s.close()
				day := rapid.IntRange(-75, 0)
				s.Move(time.Duration(-40*24) * time.Hour)
				for range 2 {
					for range rapid.IntRange(0, 12).Draw(rt, "charges") {
						s.Move(time.Duration(rapid.IntRange(0, 60).Draw(rt, "hours")) * time.Hour)
						s.tag = rapid.SampledFrom([]string{"", "alpha", "beta"}).Draw(rt, "tag")
						s.account = rapid.SampledFrom([]string{"", "main", "eu"}).Draw(rt, "account")
						s.key = rapid.SampledFrom([]string{"", "7f3k9q2m4x1c", "jwt:indexer"}).Draw(rt, "key")
						s.use(rapid.SampledFrom([]string{"search", "shop"}).Draw(rt, "team"),
							rapid.SampledFrom([]string{"a", "b", "c|d", ""}).Draw(rt, "model"),
							rapid.SampledFrom([]policy.Endpoint{policy.EndpointText, policy.EndpointImage}).Draw(rt, "endpoint"),
							rapid.Bool().Draw(rt, "estimated"),
							limit.Amounts{1, rapid.Int64Range(0, 50).Draw(rt, "tokens"), rapid.Int64Range(0, 3).Draw(rt, "images"),
								rapid.Int64Range(0, 1e6).Draw(rt, "spend")})
						if delta := rapid.Int64Range(-1e6, 1e6).Draw(rt, "correction"); delta%3 == 0 {
							c := limit.Correction{ID: fmt.Sprint("adjust-", s.holds), Team: "search", Unit: unit.NameSpend, Delta: delta, Account: s.account,
								Why: "why"}
							if ago := rapid.IntRange(0, 35).Draw(rt, "days ago"); ago > 0 {
								c.Day = limit.CalendarOf(s.Now().AddDate(0, 0, -ago)).Day
							}
							if _, err := s.balances.Adjust(s.Context(), c); err != nil {
								rt.Fatal(err)
							}
						}
					}
					first := day.Draw(rt, "from")
					from, to := s.Now().AddDate(0, 0, first).Format(limit.DayForm),
						s.Now().AddDate(0, 0, rapid.IntRange(first, 0).Draw(rt, "to")).Format(limit.DayForm)
					before := s.Now().AddDate(0, 0, first-rapid.IntRange(0, 20).Draw(rt, "before")).Format(limit.DayForm)
					for _, team := range []string{"", "search", "ads"} {
						for _, by := range dimensions {
							s.compare(rt, operator, MoneyQuery{from, to, by, team, &MoneyQuery{before, from, by, team, nil}})
						}
					}
					s.compare(rt, member, MoneyQuery{from, to, "model", "", &MoneyQuery{before, from, "model", "", nil}})
					s.compareToday(rt)
					s.Move(freshFor)
				}
			})
		})
	}
}

// uses are use by name.
type uses map[string]Use

func (u uses) add(name string, more Use) {
	if more != (Use{}) {
		u[name] = u[name].Plus(more)
	}
}

// teamsOf are the teams that a name means: all, if it is empty.
func teamsOf(team string) []string {
	if team == "" {
		return nil
	}
	return []string{team}
}

// compare compares an answer of Money with the report, and what it has of the days before.
func (s *stand) compare(rt fataler, p access.Person, q MoneyQuery) {
	got, err := s.figures.Money(s.Context(), p, q)
	if err != nil {
		rt.Fatal(err)
	}
	s.same(rt, p, q, &got)
	if (q.Before != nil) != (got.Was != nil) {
		rt.Fatalf("%+v: the days before are %+v", q, got.Was)
	}
	if q.Before != nil {
		s.same(rt, p, *q.Before, got.Was)
	}
	if today := s.Now().UTC().Format(limit.DayForm); got.Running != nil {
		s.same(rt, p, MoneyQuery{today, today, q.By, q.Team, nil}, got.Running)
	} else if q.Before != nil && q.To >= today {
		rt.Fatalf("%+v has nothing of the running day", q)
	}
}

// same compares the use of some days with the report.
func (s *stand) same(rt fataler, p access.Person, q MoneyQuery, got *Money) {
	days, _ := limit.Days(q.From, q.To)
	team := q.Team
	if p.Role == access.Member {
		team = p.Teams[0]
	}
	rows, err := s.balances.Rows(s.Context(), limit.Query{Teams: teamsOf(team), Days: days})
	if err != nil {
		rt.Fatal(err)
	}
	report := admin.NewUsageReport(unit.Currency{}, q.From, q.To, rows, false)
	want, wantDays, wantTotal := uses{}, uses{}, Use{}
	for _, row := range report.Rows {
		var use Use
		u := unit.Index(row.Unit)
		used, okUsed := unit.Nanos.Read(row.Unit, row.Used.String())
		estimated, okEstimated := unit.Nanos.Read(row.Unit, row.Estimated.String())
		if !okUsed || !okEstimated {
			rt.Fatalf("the report writes %s and %s", row.Used, row.Estimated)
		}
		use.Used[u], use.Estimated[u] = used, estimated
		want.add(map[string]string{"day": row.Day, "team": row.Team, "model": row.Model, "endpoint": string(row.Endpoint),
			"account": limit.AccountName(row.Account)}[q.By], use)
		wantDays.add(row.Day, use)
		wantTotal = wantTotal.Plus(use)
	}
	switch {
	case q.By == "kind":
		want = kindsOf(rows)
	case parts[q.By] != limit.ScopeTeam:
		want = s.parts(rt, teamsOf(team), days, wantTotal, q.By)
	}
	gotRows, gotDays := uses{}, uses{}
	for _, row := range got.Rows {
		gotRows[row.Name] = gotRows[row.Name].Plus(row.Use)
	}
	for _, rows := range []uses{want, gotRows} { // a sum of zero over several days may have a row
		maps.DeleteFunc(rows, func(_ string, u Use) bool { return u == Use{} })
	}
	for _, d := range got.Days {
		if d.Use != (Use{}) {
			gotDays.add(d.Name, d.Use)
		}
	}
	if diff := cmp.Diff([]any{want, wantDays, wantTotal}, []any{gotRows, gotDays, got.Total}); diff != "" {
		rt.Fatalf("%+v differs from sluice usage:\n%s", q, diff)
	}
	for i, apart := range got.Apart {
		sum := int64(0)
		for _, n := range apart {
			sum += n
		}
		if apart != nil && sum != got.Rows[i].Used[limit.Spend] {
			rt.Fatalf("%+v: %s cost %d, by day %d", q, got.Rows[i].Name, got.Rows[i].Used[limit.Spend], sum)
		}
	}
	if len(got.Days) != len(days) {
		rt.Fatalf("%d days, want %d", len(got.Days), len(days))
	}
}

// kindsOf adds up rows by kind.
func kindsOf(rows []limit.Row) uses {
	list := uses{}
	for i := range rows {
		for _, p := range rows[i].Parts() {
			list.add(strings.TrimSpace(p.Kind.String()+" "+p.Size), Use{p.Used, p.Estimated})
		}
	}
	return list
}

// compareToday compares today's figures on Now and a team's page with the ledger.
func (s *stand) compareToday(rt *rapid.T) {
	rows, err := s.balances.Rows(s.Context(), limit.Query{Days: []int{price.DayOf(s.Now())}})
	if err != nil {
		rt.Fatal(err)
	}
	teams, all := uses{}, Use{}
	for i := range rows {
		teams.add(rows[i].Team, useOf(&rows[i]))
		all = all.Plus(useOf(&rows[i]))
	}
	now, err := s.figures.Now(s.Context(), operator, false)
	if err != nil || now.Today != all {
		rt.Fatalf("Now has %+v, %v, want %+v", now.Today, err, all)
	}
	lines, err := s.figures.Lines(s.Context(), member)
	page, errTeam := s.figures.Team(s.Context(), member, "search")
	if err != nil || errTeam != nil || lines["search"].Today != teams["search"] || page.Days[len(page.Days)-1].Use != teams["search"] {
		rt.Fatalf("the list has %+v, the page %+v, %v, %v, want %+v", lines["search"].Today, page.Days[len(page.Days)-1], err, errTeam,
			teams["search"])
	}
}

// fataler is a test, or a check by rapid.
type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// parts adds up the ledger of tags or keys.
func (s *stand) parts(rt fataler, teams []string, days []int, total Use, way string) uses {
	rows, err := s.balances.Rows(s.Context(), limit.Query{Teams: teams, Days: days, By: parts[way]})
	if err != nil {
		rt.Fatal(err)
	}
	by, sum := uses{}, Use{}
	for i := range rows {
		by.add(rows[i].Tag+rows[i].Key, useOf(&rows[i]))
		sum = sum.Plus(useOf(&rows[i]))
	}
	if rest := (Use{total.Used.Minus(sum.Used), total.Estimated.Minus(sum.Estimated)}); rest != (Use{}) {
		by.add(without(way), rest)
	}
	return by
}

func TestForecast(t *testing.T) {
	at := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 15, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		name  string
		now   time.Time
		spent map[int]int64
		want  Month
	}{
		{"nothing was spent", at(11, 21), nil, Month{Name: "2026-11"}},
		{"the same every day", at(11, 21), days(20261101, 21, 10), Month{"2026-11", 210, 10, 300, 7}},
		{"today alone is no rate yet", at(11, 21), map[int]int64{20261121: 50}, Month{"2026-11", 50, 0, 50, 0}},
		{"the first day was three days ago", at(11, 21), map[int]int64{20261118: 30, 20261119: 0, 20261120: 60},
			Month{"2026-11", 90, 30, 360, 3}}, {"the month before gives the rate", at(12, 1), days(20261124, 7, 10),
			Month{"2026-12", 0, 10, 300, 7}},
		{"the last day of a month", at(10, 31), days(20261001, 31, 1), Month{"2026-10", 31, 1, 31, 7}},
		{"what was spent long ago is no rate", at(11, 21), map[int]int64{20261101: 500}, Month{"2026-11", 500, 0, 500, 7}},
		{"it rests at the weekend, in the month before too", at(12, 5),
			map[int]int64{20261123: 70, 20261130: 14, 20261201: 14, 20261202: 14, 20261203: 14, 20261204: 14}, Month{"2026-12", 56, 10, 316, 7}},
		{"more was given back than was spent", at(11, 21), map[int]int64{20261101: 500, 20261119: 10, 20261120: -90},
			Month{"2026-11", 420, 0, 420, 7}},
		{"the first days of a leap year's February", time.Date(2028, 2, 2, 0, 0, 1, 0, time.UTC), map[int]int64{20280131: 10, 20280201: 30},
			Month{"2028-02", 30, 20, 570, 2}},
		{"another time zone's day is one in UTC", time.Date(2026, 12, 1, 1, 0, 0, 0, time.FixedZone("", 3*3600)), days(20261101, 30, 10),
			Month{"2026-11", 300, 10, 300, 7}},
	} {
		if got := forecast(tt.now, func(day int) int64 { return tt.spent[day] }); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// days returns count days of equal spending.
func days(first, count int, each int64) map[int]int64 {
	spent := map[int]int64{}
	for i := range count {
		spent[first+i] = each
	}
	return spent
}

func TestMoneyOfOthersAndUnknownWays(t *testing.T) {
	s := newStand(t, false)
	day := s.Now().Format(limit.DayForm)
	for _, tt := range []struct {
		name string
		p    access.Person
		q    MoneyQuery
		want error
	}{
		{"a foreign team", member, MoneyQuery{day, day, "day", "shop", nil}, ErrAbsent},
		{"an unknown team", member, MoneyQuery{day, day, "day", "none", nil}, ErrAbsent},
		{"nobody", access.Person{}, MoneyQuery{day, day, "day", "search", nil}, ErrAbsent},
		{"an unknown way", operator, MoneyQuery{day, day, "colour", "", nil}, ErrQuery},
		{"no days", operator, MoneyQuery{"x", day, "day", "", nil}, ErrQuery},
		{"too many days", operator, MoneyQuery{"2024-01-01", day, "day", "", nil}, ErrQuery},
	} {
		if _, err := s.figures.Money(t.Context(), tt.p, tt.q); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	s.use("shop", "m", policy.EndpointText, false, limit.Amounts{1, 1, 0, 5})
	if m, err := s.figures.Money(t.Context(), member, MoneyQuery{day, day, "team", "", nil}); err != nil || m.Total != (Use{}) ||
		m.Month.Spent != 0 {
		t.Errorf("a member sees %+v, %v of another team", m, err)
	}
	if m, err := s.figures.Money(t.Context(), access.Person{}, MoneyQuery{day, day, "team", "", nil}); err != nil || m.Total != (Use{}) {
		t.Errorf("nobody sees %+v, %v", m, err)
	}
}

// TestDaysThatMayChangeAreReadOnceInTwoSeconds, for all viewers.
func TestDaysThatMayChangeAreReadOnceInTwoSeconds(t *testing.T) {
	s := newStand(t, true)
	q := MoneyQuery{s.Now().Format(limit.DayForm), s.Now().Format(limit.DayForm), "team", "", nil}
	for i, tt := range []struct {
		what  string
		moves time.Duration
		spend int64
	}{{"at first", 0, 5}, {"a moment later", freshFor - 1, 5}, {"after two seconds", 1, 15}} {
		s.use("search", "m", policy.EndpointText, false, limit.Amounts{1, 1, 0, 5})
		s.Move(tt.moves)
		m, err := s.figures.Money(t.Context(), operator, q)
		if spent := m.Total.Used[limit.Spend]; spent != tt.spend || err != nil {
			t.Errorf("%d, %s: %d spent, %v; want %d", i, tt.what, spent, err, tt.spend)
		}
	}
}

func TestNamesThatAreTooManyCountAsOther(t *testing.T) {
	a := adder{}
	a.add("other", &Use{Used: limit.Amounts{1}})
	for i := range mostModels + 10 {
		a.add(fmt.Sprint("m", i), &Use{Used: limit.Amounts{1, 0, 0, int64(i)}})
	}
	sum := sumOf("tag", 7, time.Now(), &a)
	if sum.Whole {
		t.Error("a sum of too many tags is whole")
	}
	sum = sumOf("model", 7, time.Now(), &a)
	by, total := uses{}, Use{}
	for row := range sum.Rows() {
		by.add(row.Name, row.Use)
		total = total.Plus(row.Use)
	}
	if len(by) != mostModels || total.Used[limit.Requests] != mostModels+11 || by["other"].Used[limit.Requests] != 12 || sum.Version != 7 {
		t.Errorf("%d rows, %+v in all, other %+v", len(by), total, by["other"])
	}
}

// TestMoneyByTag: without("tag") use has a row too, so that the rows add up to the total.
func TestMoneyByTag(t *testing.T) {
	for _, redis := range []bool{false, true} {
		s := newStand(t, redis)
		day := s.Now().Format(limit.DayForm)
		for i, tag := range []string{"alpha", "", "beta", "alpha"} {
			s.tag = tag
			s.use([]string{"search", "shop"}[i/2], "m", policy.EndpointText, i == 3, limit.Amounts{1, 10, 0, 100})
		}
		for _, tt := range []struct {
			p    access.Person
			team string
			want string
		}{
			{operator, "", "alpha 2 beta 1 without a tag 1"},
			{operator, "shop", "alpha 1 beta 1"},
			{member, "", "alpha 1 without a tag 1"},
		} {
			m, err := s.figures.Money(t.Context(), tt.p, MoneyQuery{day, day, "tag", tt.team, nil})
			got, sum := names(m.Rows, func(r Row) string { return fmt.Sprint(r.Name, " ", r.Used[limit.Requests]) }), Use{}
			for _, row := range m.Rows {
				sum = sum.Plus(row.Use)
			}
			if err != nil || got != tt.want || sum != m.Total {
				t.Errorf("%s: %s of %+v, %v, want %s", tt.team, got, m.Total, err, tt.want)
			}
		}
	}
}
