package redisstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// tagPair is the two forms, of which memory takes one request at a time.
type tagPair struct {
	*form
	memory *limit.Memory
	list   []*teams.Team
	team   *teams.Team
	open   []*limit.Held
	holds  int
	day    int  // on which all values but two were seen
	crowds bool // every day is such a one
}

var pairedTeams = []string{
	"tag_key: project\n    tag_quotas: {tokens: {day: 20, month: 26}, images: {day: 5}}",
	"tag_key: project\n    tag_quotas: {requests: {day: 4}, tokens: {month: 24}}\n    quotas: {tokens: {day: 60}}\n    open_tasks: 3",
	"tag_key: project\n    shadow: true\n    tag_quotas: {tokens: {day: 12}}",
	"tag_key: project\n    tag_quotas: {tokens: {day: 20, month: 26}, images: {day: 5}}\n    quotas: {spend: {day: 0.00000005}}",
}

// TestTagBatches: requests for several values that share a call are decided as if each arrived alone, also where a day has room
// for two more values, and over days and months.
func TestTagBatches(t *testing.T) {
	client, list := limittest.RealRedis(t), readTeams(t, pairedTeams)
	rapid.Check(t, func(rt *rapid.T) {
		client.FlushDB(t.Context())
		f := newRedisForm(t, client)
		f.clock.Move(time.Duration(rapid.SampledFrom([]int{0, 8, 9}).Draw(rt, "days")) * 24 * time.Hour) // or near the month's end
		p := &tagPair{form: f, memory: limit.NewMemory(f.clock.Now), list: list, team: list[0],
			crowds: rapid.IntRange(0, 4).Draw(rt, "crowds") == 4}
		rt.Repeat(map[string]func(*rapid.T){
			"":       p.compare,
			"batch":  p.batch,
			"settle": p.settle,
			"tick": func(rt *rapid.T) {
				p.clock.Move(time.Duration(rapid.SampledFrom([]int{1, 600, 3600, 40_000, 86_400}).Draw(rt, "seconds")) * time.Second)
			},
			"reload": func(rt *rapid.T) { p.team = rapid.SampledFrom(p.list).Draw(rt, "team") },
		})
	})
}

// fill lets the day have room for two more values.
func (p *tagPair) fill() {
	day := limit.CalendarOf(p.clock.Now()).Day
	if p.day == day || !p.crowds {
		return
	}
	p.day = day
	key, room := p.redis.teams.Get("search").inside(limit.ScopeTag, day), 2
	known := p.client.HLen(p.Context(), key).Val()
	if known > 0 {
		return
	}
	fields := []any{"day", day, "#", 1000 - room}
	for n := range 1000 - room {
		h := of(fmt.Sprint("fill-", day, "-", n), fmt.Sprint("v", n), p.list[2], 0)
		h.Lease = time.Hour
		held, err := p.memory.Admit(p.Context(), &h)
		if err != nil {
			p.Fatal(err)
		}
		_, _ = p.memory.Settle(p.Context(), &limit.Charge{Held: held.Held, Team: p.team})
		fields = append(fields, fmt.Sprint("#v", n), 1)
	}
	p.client.HSet(p.Context(), key, fields...)
}

func (p *tagPair) batch(rt *rapid.T) {
	p.fill()
	task := rapid.Bool().Draw(rt, "task")
	mask := rapid.SampledFrom([]limit.Amounts{{1, 1}, {1, 0, 1}, {0, 1, 1, 1}, {1}}).Draw(rt, "units")
	var list admissionGroup
	var want []limit.Verdict
	var holds []*limit.Hold
	for range rapid.IntRange(1, 8).Draw(rt, "requests") {
		h := hold(id(p.holds), p.team, limit.Amounts{})
		if p.holds++; len(p.open) > 0 && rapid.IntRange(0, 9).Draw(rt, "again") == 0 {
			h.ID = p.open[len(p.open)-1].ID
		} else if len(holds) > 0 && rapid.IntRange(0, 9).Draw(rt, "twice") == 0 {
			h.ID = holds[len(holds)-1].ID
		}
		h.Tag, h.Task, h.Lease = rapid.SampledFrom([]string{"", "a", "b", "c", "other", "v7"}).Draw(rt, "tag"), task, 1000*time.Hour
		for unit, n := range mask {
			if n > 0 {
				h.Amounts[unit] = rapid.Int64Range(1, []int64{1, 12, 3, 20}[unit]).Draw(rt, "amount")
			}
		}
		holds = append(holds, &h)
	}
	for _, h := range holds {
		v, err := p.memory.Place(h, termsOf(h.Team))
		if err != nil {
			rt.Fatal(err)
		}
		want = append(want, v.Verdict(termsOf(h.Team), h))
		list = append(list, newAdmission(p.redis.teams.Get("search"), p.redis.today.at(p.redis.Now()), h, &Loan{}, version{}))
	}
	p.redis.sendAdmissions(p.Context(), list)
	for i, a := range list {
		if a.err != nil {
			rt.Fatal(a.err)
		}
		s := a.state
		got := s.Verdict(termsOf(p.team), a.hold)
		if diff := cmp.Diff(plainVerdict(&want[i]), plainVerdict(&got)); diff != "" {
			rt.Fatalf("request %d of %d, %s for %q of %v (-memory +redis):\n%s", i, len(list), a.hold.ID, a.hold.Tag, a.hold.Amounts, diff)
		}
		if got.Held != nil && !slices.ContainsFunc(p.open, func(h *limit.Held) bool { return h.ID == got.Held.ID }) {
			p.open = append(p.open, got.Held)
		}
	}
}

func termsOf(t *teams.Team) *limit.Terms {
	terms := limit.TermsOf(t)
	return &terms
}

func plainVerdict(v *limit.Verdict) string {
	return fmt.Sprintf("held %v, %s %+v for %v, asked %d, %+v", v.Held != nil, v.Reason, v.Fault, v.Wait, v.Asked, v.Limits)
}

func (p *tagPair) settle(rt *rapid.T) {
	if len(p.open) == 0 {
		rt.Skip()
	}
	i := rapid.IntRange(0, len(p.open)-1).Draw(rt, "which")
	h := p.open[i]
	p.open = append(p.open[:i], p.open[i+1:]...)
	used := limit.Amounts{rapid.Int64Range(0, 1).Draw(rt, "requests"), rapid.Int64Range(0, 15).Draw(rt, "tokens"),
		rapid.Int64Range(0, 3).Draw(rt, "images")}
	c := limit.Charge{Held: h, Team: p.team, Amounts: used, Estimated: rapid.Bool().Draw(rt, "estimated")}
	twice := c
	_, err := p.memory.Settle(p.Context(), &c)
	_, errRedis := p.redis.Settle(p.Context(), &twice)
	if err != nil || errRedis != nil {
		rt.Fatal(err, errRedis)
	}
}

// compare compares how all values stand, and the ledger of tags.
func (p *tagPair) compare(rt *rapid.T) {
	in := *p.form
	in.memory = p.memory
	want, got := in.lookTags(p.team), p.lookTags(p.team)
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got)); diff != "" {
		rt.Fatalf("(-memory +redis):\n%s", diff)
	}
	if diff := cmp.Diff(fmt.Sprintf("%+v", in.tags()), fmt.Sprintf("%+v", p.tags())); diff != "" {
		rt.Fatalf("ledger (-memory +redis):\n%s", diff)
	}
}
