package pages_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// galleries are the data sets with which every page is checked, by name.
func galleries() map[string]*gallery {
	return map[string]*gallery{"empty": empty(), "little": little(), "day": day(12), "thousand": day(1000), "tongues": tongues()}
}

// empty is Sluice on its first morning.
func empty() *gallery {
	return &gallery{pictures: "https://pictures.example", now: figures.Now{At: noon, Step: time.Minute,
		Steps: steps(60, func(int) (int64, int64, int64) { return 0, 0, 0 })}, days: days(func(int) int64 { return 0 })}
}

// little is one team and its first requests.
func little() *gallery {
	g := empty()
	g.list = []teamLine{{ID: "search", Description: "Search of the shop", Owner: teams.OwnerDirectory, Keys: 1, Today: use(3)}}
	g.now = figures.Now{At: noon, Step: time.Minute, Steps: steps(60, func(i int) (int64, int64, int64) { return int64(i / 58), 0, 0 }),
		Overhead: 310 * time.Microsecond, Rate: 0.03, Today: use(3), Teams: figured(g.list), Known: 1}
	g.days = days(func(i int) int64 { return int64(i/29) * 3 })
	g.requests = requests(g.list, 3)
	g.tasks, g.accounts = tasks(g.list, 1), oneAccount()
	g.house()
	g.entries = g.entries[:2]
	return g
}

// day is a day's work of some teams, one of them with a very long name.
func day(count int) *gallery {
	return dayWith(count, "a-team-with-a-very-long-name-that-goes-on-and-on-to-sixty-three-c")
}

func dayWith(count int, last string) *gallery {
	g := empty()
	random := rand.New(rand.NewPCG(1, uint64(count)))
	names := []string{"search", "ads", "maps", "support-bot", "catalogue-pictures", "translation", "fraud", "newsletter", "recommendations",
		"mobile-app", "warehouse", last}
	total := figures.Use{}
	for i := range count {
		line := teamLine{ID: fmt.Sprintf("team-%04d", i), Description: "Team of the shop, number " + fmt.Sprint(i), Owner: teams.OwnerFile,
			Keys: 1 + i%4, Today: use(random.Int64N(int64(40000 / (i + 1)))), Refused: random.Int64N(200) * int64(i%3)}
		if i < len(names) {
			line.ID = names[i]
		}
		if i%3 != 1 {
			line.Owner = teams.OwnerDirectory
		}
		if i%4 != 3 {
			line.Tightest = &standings()[i%5]
		}
		line.Disabled, line.Shadow = i%7 == 6, i%5 == 4
		g.list = append(g.list, line)
		total = total.Plus(line.Today)
	}
	slices.SortFunc(g.list[:min(count, 12)], func(a, b teamLine) int { return int(b.Today.Used[limit.Spend] - a.Today.Used[limit.Spend]) })
	g.now = figures.Now{At: noon, Step: time.Minute, Overhead: 420 * time.Microsecond, Rate: 1.27, Today: total, Teams: figured(g.list[:10]),
		Known: count, Steps: steps(60, func(i int) (int64, int64, int64) {
			return 55 + int64(i)/4 + random.Int64N(20), random.Int64N(4), random.Int64N(6) * int64(i%9/8)
		})}
	for i := range g.list {
		g.now.Refused += g.list[i].Refused
	}
	g.now.House = []limit.Standing{
		{Unit: unit.NameImages, Period: teams.PeriodDay, Per: "day", Limit: 20000, Window: 24 * time.Hour, Used: 13200, Held: 800, Left: 6000,
			Reset: 12 * time.Hour},
		{Unit: unit.NameSpend, Period: teams.PeriodMonth, Per: "month", Limit: 60000 * teams.Nano, Window: 720 * time.Hour,
			Used: 60001 * teams.Nano, Reset: 204 * time.Hour},
	}
	since := noon.Add(-12 * time.Minute)
	g.now.Faults = []figures.Fault{
		{Kind: "service", Text: "25 of the last 25 requests failed, could not be reached", Since: &since, Count: 25, Of: 25},
		{Kind: "latency", Subject: "llm-max", Text: "95 of 100 requests take the service up to 9.2s, usually 2.1s", Since: &since},
		{Kind: "limit", Subject: g.list[0].ID, Text: "97 % of its limit images-day are used or held; so are 2 more of its limits", Count: 97,
			Of: 100},
		{Kind: "process", Subject: "directory", Text: "team fraud stands in the teams file and in the directory; the file's counts, remove " +
			"one of the two"},
	}
	g.days = days(func(i int) int64 {
		if i == 29 {
			return total.Used[limit.Requests]
		}
		return 60000 + int64(i)*900 + random.Int64N(27000) - int64((i+4)%7/5)*36000
	})
	g.requests, g.tasks, g.accounts = requests(g.list, 30+count/10), tasks(g.list, 20+count/10), someAccounts("llm-max")
	g.house()
	return g
}

// hostile are texts of people and programs that no page may trust.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "'; DROP TABLE teams;--", "a\r\nSet-Cookie: x=1",
	"\u202eevil\u202c txt.exe", "{{.Secret}}", "javascript:alert(1)", "\u2066\u2067\u202d x", "=HYPERLINK(1)",
}

// tongues has descriptions in other languages and scripts, and hostile ones.
func tongues() *gallery {
	g := day(12)
	texts := append([]string{
		"Donaudampfschifffahrtsgesellschaftskapitänsmützenbeschaffungsausschreibungsverwaltungsprogramm der Abteilung für Öffentlichkeitsarbeit",
		"搜索团队：负责商店的全文检索、图片搜索以及推荐系统的日常维护与模型调用管理",
		"فريق البحث في المتجر، مسؤول عن الفهرسة والصور (نسخة 2.6) والترجمة",
	}, hostile...)
	for i := range g.list {
		g.list[i].Description = texts[i%len(texts)]
	}
	for i := range g.requests {
		g.requests[i].Model = texts[i%len(texts)]
		g.requests[i].Refusal, g.requests[i].Reason, g.requests[i].Rules = hostile[i%len(hostile)], hostile[i%len(hostile)]+" "+texts[i%3],
			hostile[:1]
	}
	for i := range g.tasks {
		g.tasks[i].Model = texts[i%len(texts)]
	}
	for i := range g.entries {
		g.entries[i].Reason, g.entries[i].Who = texts[i%len(texts)], "oidc:"+hostile[i%len(hostile)]
		g.entries[i].After = quoted(hostile[i%len(hostile)])
	}
	for i := range g.now.Faults {
		g.now.Faults[i].Text = texts[i]
	}
	g.config.Settings[0].Value, g.accounts = hostile[0], someAccounts(hostile[0])
	return g
}

// figured returns lines without the directory's members.
func figured(list []teamLine) (lines []figures.TeamLine) {
	for i := range list {
		lines = append(lines, figures.TeamLine{ID: list[i].ID, TeamUse: figures.TeamUse{Today: list[i].Today, Refused: list[i].Refused,
			Nearest: nearOf(list[i].Tightest)}})
	}
	return lines
}

func use(requests int64) figures.Use {
	u := limit.Amounts{requests, requests * 1540, requests / 7, requests * 3_456_789}
	return figures.Use{Used: u, Estimated: limit.Amounts{0, u[1] / 40, 0, u[3] / 37}}
}

func steps(count int, of func(int) (all, refused, failed int64)) (list []figures.Step) {
	begin := noon.Truncate(time.Minute).Add(-time.Duration(count-1) * time.Minute)
	for i := range count {
		all, refused, failed := of(i)
		list = append(list, figures.Step{At: begin.Add(time.Duration(i) * time.Minute), Requests: all, Refused: refused, Failed: failed})
	}
	return list
}

func days(of func(int) int64) (list []figures.Row) {
	for i := range 30 {
		list = append(list, figures.Row{Name: noon.AddDate(0, 0, i-29).Format(time.DateOnly), Use: use(of(i))})
	}
	return list
}

var midnightAfterNoon = noon.Truncate(24*time.Hour).AddDate(0, 0, 1)

// untilMidnight is in UTC, from noon.
const untilMidnight = 11*time.Hour + 25*time.Minute + 4*time.Second

// standings are limits of every kind: far, near, full.
func standings() []limit.Standing {
	return []limit.Standing{
		{Unit: unit.NameRequests, Per: "1m", Limit: 600, Window: time.Minute, Used: 12, Left: 48, Reset: 2 * time.Second},
		{Unit: unit.NameTokens, Per: "1m", Limit: 200000, Window: time.Minute, Used: 250_000, Left: 150_000, Reset: 75 * time.Second},
		{Unit: unit.NameImages, Period: teams.PeriodDay, Per: "day", Limit: 500, Used: 412, Held: 60, Left: 28, Reset: untilMidnight},
		{Unit: unit.NameSpend, Period: teams.PeriodDay, Per: "day", Limit: 50 * teams.Nano, Used: 50*teams.Nano + 3, Reset: untilMidnight},
		{Unit: unit.NameSpend, Period: teams.PeriodMonth, Per: "month", Limit: 800 * teams.Nano, Used: 311_123_456_789, Held: 4 * teams.Nano,
			Left: 484_876_543_211, Reset: 8*24*time.Hour + untilMidnight},
	}
}

// raisedTeam is the team of those standings, with two raises of its quotas.
func raisedTeam(reason string) *teams.Team {
	images := teams.Quota{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 200}
	return &teams.Team{Base: []teams.Quota{images}, Hooks: []event.Hook{{ID: "jobs"}, {ID: "a-hook-with-a-long-name-of-the-warehouse"}},
		Raises: []teams.Raise{
			{ID: "5t8w1z4c7f0h", Unit: images.Unit, Period: images.Period, Amount: 250, Until: midnightAfterNoon, Reason: "launch"},
			{ID: "6u9x2a5d8g1j", Unit: images.Unit, Period: images.Period, Amount: 50, Until: noon.Add(2 * time.Hour), Reason: reason},
		}}
}

// tagQuotas are quotas of each value of a tag, and tagStandings the standings of more values than the page shows.
var tagQuotas = []teams.Quota{{Unit: unit.NameSpend, Period: teams.PeriodDay, Limit: 5 * teams.Nano},
	{Unit: unit.NameImages, Period: teams.PeriodMonth, Limit: 100}}

func tagStandings() (list []limit.Standing) {
	for i := range 24 {
		tag := fmt.Sprintf("p%d", i)
		if i == 3 {
			tag = ""
		}
		spent, images := int64(24-i)*teams.Nano/5, int64(99-4*i)
		list = append(list,
			limit.Standing{Scope: limit.ScopeTag, Of: tag, Unit: unit.NameSpend, Period: teams.PeriodDay, Per: "day", Limit: 5 * teams.Nano,
				Used: spent, Held: teams.Nano / 5, Left: 5*teams.Nano - spent - teams.Nano/5, Reset: untilMidnight},
			limit.Standing{Scope: limit.ScopeTag, Of: tag, Unit: unit.NameImages, Period: teams.PeriodMonth, Per: "month", Limit: 100, Used: images,
				Left: 100 - images, Reset: 8*24*time.Hour + untilMidnight})
	}
	return list
}

// keyStandings are the standings of two keys with limits of their own, and keyUse the month by key of more than the page shows.
func keyStandings() (list []limit.Standing) {
	for i, id := range []string{"7f3k9q2m4x00", "7f3k9q2m4x01"} {
		list = append(list,
			limit.Standing{Scope: limit.ScopeKey, Of: id, Unit: unit.NameRequests, Per: "1m", Limit: 60, Window: time.Minute, Left: 50 - int64(i),
				Used: 10, Reset: 10 * time.Second},
			limit.Standing{Scope: limit.ScopeKey, Of: id, Unit: unit.NameImages, Period: teams.PeriodDay, Per: "day", Limit: 50, Used: 40, Held: 4,
				Left: 6, Reset: untilMidnight})
	}
	return list
}

func keyUse() (list []figures.Row) {
	for i := range 24 {
		name := fmt.Sprintf("7f3k9q2m4x%02d", i)
		if i == 2 {
			name = "jwt:system:serviceaccount:search:indexer"
		}
		list = append(list,
			figures.Row{Name: name, Use: figures.Use{Used: limit.Amounts{int64(900 - i), int64(90000 - i), int64(24 - i),
				int64(24-i) * teams.Nano}}})
	}
	return list
}

func requests(list []teamLine, count int) (all []recent.Request) {
	for i := range count {
		r := recent.Request{
			ID: fmt.Sprintf("0b6a%04d-5d1e-4f7a-9c1b-2f6f3a5f1f6f", i), Team: list[i%min(len(list), 12)].ID,
			Model: []string{"llm-plus", "llm-max", "gen2.6-image"}[i%3], At: noon.Add(-time.Duration(i*i) * 731 * time.Millisecond),
			Status: 200, Cost: telemetry.Cost{Amounts: limit.Amounts{1, int64(i*37%4100) + 12, 0, int64(i) * 123_456}},
			Duration: time.Duration(i%50+1) * 97 * time.Millisecond, Overhead: time.Duration(i%9+1) * 90 * time.Microsecond,
		}
		if i%3 == 2 {
			r.Cost.Amounts[limit.Tokens], r.Cost.Amounts[limit.Images] = 0, int64(i%4)+1
			r.Cost.Amounts[limit.Spend] = r.Cost.Amounts[limit.Images] * 200_000_000
		}
		switch i % 11 {
		case 2:
			r.Upstream, r.Inner, r.Code = 200, 500, "InternalError.Algo"
		case 4:
			r.Status, r.Refusal, r.Duration = 429, "admit/quota", 400*time.Microsecond
			r.Reason = "Team " + r.Team + " has 28 left of its quota images-day of 500, and this request may cost 40; it resets in 11h25m4s."
			r.Limit = telemetry.Limit{Name: "images-day", Scope: "team", Unit: "images", Per: "day", Used: 412, Held: 60, Left: 28, Limit: 500,
				Asked: 40}
		case 7:
			r.Status, r.Refusal, r.Duration = 400, "inspect/rules", 700*time.Microsecond
			r.Reason, r.Rules = `parameters.top_p: given 7, allowed a number above 0 and up to 1.0 (text.top_p)`, []string{"text.top_p"}
		case 9:
			r.Status, r.Upstream, r.Code, r.Duration = 502, 502, "InternalError", 61*time.Second
		}
		if r.Status != 200 {
			r.Cost = telemetry.Cost{}
		}
		r.Overhead = min(r.Overhead, r.Duration)
		all = append(all, r)
	}
	return all
}

func tasks(list []teamLine, count int) (all []figures.TaskLine) {
	states := []string{"RUNNING", "PENDING", "SUCCEEDED", "SUCCEEDED", "FAILED", "SUCCEEDED", "CANCELED"}
	for i := range count {
		made := noon.Add(-time.Duration(i*i)*9*time.Second - 20*time.Second)
		t := figures.TaskLine{
			Team: list[i%min(len(list), 12)].ID, ID: fmt.Sprintf("%08x-d340-4e21-bf6e-%012d", uint32(i+1)*2654435761, i), Model: "gen2.6-image",
			State:   states[i%len(states)],
			Created: made, Submitted: made.Add(300 * time.Millisecond), PollsServed: int64(i % 40), QueriesSent: int64(i%40)/3 + 1,
			Cost: limit.Amounts{1, 0, 4, 800_000_000},
		}
		t.Open = i%len(states) < 2
		if t.State != "PENDING" && t.State != "CANCELED" {
			t.Begun = made.Add(6 * time.Second)
		}
		if !t.Open {
			t.Ended = made.Add(31 * time.Second)
		}
		all = append(all, t)
	}
	return all
}

// house fills the pages that are not about one team.
func (g *gallery) house() {
	whats := []string{"team.change", "key.add", "key.rotate", "team.create", "usage.adjust", "directory.import"}
	for i := range 24 {
		e := teams.Entry{Seq: int64(240 - i), Time: noon.Add(-time.Duration(i*i) * time.Hour), Who: "oidc:alice@example.com",
			Address: "192.0.2.7", What: whats[i%len(whats)], Team: g.list[i%len(g.list)].ID, Reason: "asked for by the team"}
		if i%len(whats) == 0 {
			e.Before, e.After = json.RawMessage(`{"id":"search","quotas":{"images":{"day":400}}}`),
				json.RawMessage(`{"id":"search","quotas":{"images":{"day":500}}}`)
		}
		if i%len(whats) == 1 {
			e.Key, e.Reason = "7f3k9q2m4x1c", ""
		}
		g.entries = append(g.entries, e)
	}
	g.rules.Broken = map[string]recent.RuleCount{}
	for i, r := range policy.Table(prefix) {
		switch {
		case r.Mode == "refuse" && i%5 == 1:
			g.rules.Broken[r.ID] = recent.RuleCount{Refused: int64(i * 3)}
		case r.Mode == "warn" && i%4 == 2:
			g.rules.Broken[r.ID] = recent.RuleCount{Warned: int64(i * 7)}
		}
		g.rules.Refused += g.rules.Broken[r.ID].Refused
	}
	g.modes = policy.Modes{policy.Table(prefix)[0].ID: policy.ModeWarn}
	g.config = pages.Config{Version: "v1.8.0", Warnings: []string{"SLUICE_REPLICAS is 1 although SLUICE_REDIS_URL is set"},
		Settings: []pages.Setting{
			{Name: "SLUICE_UPSTREAM_URL", Value: "https://service.example/api/v1", Set: true},
			{Name: "SLUICE_UPSTREAM_KEY", Value: "[redacted]", Set: true}, {Name: "SLUICE_LISTEN", Value: ":8080"},
			{Name: "SLUICE_CLIENT_ORIGINS", Value: ""}, {Name: "SLUICE_POLL_INTERVAL", Value: "5s"},
		}}
}

// nearOf is how near a limit is.
func nearOf(s *limit.Standing) *figures.Near {
	if s == nil {
		return nil
	}
	n := &figures.Near{Name: s.Name(), Standing: *s}
	n.Percent = int(100 * (s.Used + s.Held) / max(n.Most(), 1))
	return n
}
