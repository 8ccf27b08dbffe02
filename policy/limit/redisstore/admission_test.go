package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// wanted is a request of a round. Its amounts are of the round's units.
type wanted struct {
	ID      int
	Amounts limit.Amounts
	Lent    int64 // of each unit, and of tasks
	Tag     string
}

// drawRound draws requests of one kind.
func drawRound(rt *rapid.T) (round []wanted, task bool) {
	has := rapid.SliceOfN(rapid.Bool(), len(unit.Names), len(unit.Names)).Draw(rt, "units")
	round = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) (w wanted) {
		w.ID, w.Lent = rapid.IntRange(0, 9).Draw(rt, "id"), rapid.Int64Range(0, 4).Draw(rt, "lent")
		w.Tag = rapid.SampledFrom([]string{"", "a", "b", "c", "other"}).Draw(rt, "tag")
		for unit, has := range has {
			if has {
				w.Amounts[unit] = rapid.Int64Range(1, 5).Draw(rt, "amount")
			}
		}
		return w
	}), 1, 12).Draw(rt, "round")
	return round, rapid.Bool().Draw(rt, "task")
}

// nearLimits are accounts that some requests still fit into, with an allowance.
func nearLimits(t *testing.T, client redis.UniversalClient, team *teams.Team) *renewing {
	client.FlushDB(t.Context())
	f := &renewing{form: newRedisForm(t, client), team: team, calls: map[string]int64{}}
	f.redis.Now = f.clock.Now // else the day by this process's clock splits the round
	f.ask(hold("first", team, limit.Amounts{}))
	r := f.renewal("a", 0, 5)
	r.Rows[0].Want = limit.Stock{1, 5, 5, 1, 3}
	f.renews(r)
	client.HSet(t.Context(), "sl1:{search}:quota", "20261121:tokens:held", 300, "20261121:tokens:used", 45, "202611:tokens:held", 300,
		"202611:images:held", 80, "20261121:images:held", 80, "tasks", 35)
	client.HSet(t.Context(), "sl1:{search}:use:20261121:tags", "day", "20261121", "#", 999, "#a", 1, "a||tokens", 70, "a||tokens|held", 20,
		"other||images", 3, "||requests", 2)
	client.HSet(t.Context(), "sl1:{search}:use:20261103:tags", "day", "20261103", "a||spend", 2, "b||spend|held", 3)
	return f
}

// places places a round in one call or one by one, and returns the verdicts and what is in Redis afterwards.
func (f *renewing) places(round []wanted, task, together bool) (verdicts, left string, _ error) {
	var all []*admission
	of := f.redis.teams.Get("search")
	for _, w := range round {
		h := hold(id(w.ID), f.team, w.Amounts)
		h.Tag, h.Task, h.Lease = w.Tag, task, time.Duration(w.ID+1)*time.Minute
		all = append(all, newAdmission(of, f.redis.today.at(f.redis.Now()), &h,
			&Loan{Name: "a:20261121", Most: limit.Stock{w.Lent, w.Lent, w.Lent, w.Lent, w.Lent}}, version{epoch: of.version().epoch}))
	}
	size := 1
	if together {
		size = len(all)
	}
	for some := range slices.Chunk(all, size) {
		f.redis.sendAdmissions(f.Context(), some)
	}
	for _, a := range all {
		if a.err != nil {
			return "", "", a.err
		}
		verdicts += fmt.Sprintf("%+v\n", a.state)
	}
	return verdicts, f.all(), nil
}

// all is what is in Redis.
func (f *renewing) all() string {
	var lines []string
	for _, key := range f.client.Keys(f.Context(), "sl1:*").Val() {
		var value any
		switch f.client.Type(f.Context(), key).Val() {
		case "hash":
			value = f.client.HGetAll(f.Context(), key).Val()
		case "zset":
			value = f.client.ZRangeWithScores(f.Context(), key, 0, -1).Val()
		default:
			value = f.client.Get(f.Context(), key).Val()
		}
		lines = append(lines, fmt.Sprintf("%s %v", key, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Requests that share a call are decided as if each arrived alone after the previous one.
func TestACallDecidesAsOneByOne(t *testing.T) {
	client := limittest.RealRedis(t)
	quotas := "quotas: {tokens: {day: 360, month: 400}, images: {day: 100, month: 95}, spend: {month: 0.00000001}}"
	list := []*teams.Team{
		limittest.Team(t, "rates: {requests: {per: 1m, limit: 60, burst: 12}, tokens: {per: 1m, limit: 60, burst: 20}}", quotas,
			"open_tasks: 40"), limittest.Team(t, quotas, "open_tasks: 40"),
		limittest.Team(t, quotas, "open_tasks: 40", "rates: {images: {per: 1m, limit: 6}}", "shadow: true"),
		limittest.Team(t),
		limittest.Team(t, quotas, "tag_key: project", "tag_quotas: {requests: {day: 4}, tokens: {day: 95}, images: {day: 6}, spend: {month: "+
			"0.00000001}}", "rates: {requests: {per: 1m, limit: 60, burst: 12}}"),
		limittest.Team(t, "shadow: true", "tag_key: project", "tag_quotas: {requests: {day: 4}, spend: {month: 0.00000001}}"),
	}
	rapid.Check(t, func(rt *rapid.T) {
		team := rapid.SampledFrom(list).Draw(rt, "team")
		round, task := drawRound(rt)
		alone, aloneLeft, err := nearLimits(t, client, team).places(round, task, false)
		together, togetherLeft, errTogether := nearLimits(t, client, team).places(round, task, true)
		if err != nil || errTogether != nil {
			rt.Fatal(err, errTogether)
		}
		if diff := cmp.Diff(alone, together); diff != "" {
			rt.Errorf("they are answered\n%s", diff)
		}
		if diff := cmp.Diff(aloneLeft, togetherLeft); diff != "" {
			rt.Errorf("they leave\n%s", diff)
		}
	})
}
