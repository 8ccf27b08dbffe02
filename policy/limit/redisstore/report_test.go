package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// sniffer notes the commands sent to Redis, and the size of each round trip's reply.
type sniffer struct {
	sync.Mutex
	sent       map[string]int
	most, read int // fields
	trips      int // that read the ledger
}

func (w *sniffer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *sniffer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer w.note(cmd)
		return next(ctx, cmd)
	}
}

func (w *sniffer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer w.note(cmds...)
		return next(ctx, cmds)
	}
}

func (w *sniffer) note(cmds ...redis.Cmder) {
	w.Lock()
	defer w.Unlock()
	if name := cmds[0].Name(); name == "smembers" || name == "hlen" || name == "hscan" { // else a connection begins
		w.trips++
	}
	fields := 0
	for _, cmd := range cmds {
		w.sent[cmd.Name()]++
		switch cmd := cmd.(type) {
		case *redis.ScanCmd:
			list, _ := cmd.Val()
			fields += len(list) / 2
		case *redis.MapStringStringCmd:
			fields += len(cmd.Val())
		}
	}
	w.read, w.most = w.read+fields, max(w.most, fields)
}

// fillDay writes a day of the ledger as the scripts would, of a number of models with two units each.
func fillDay(t *testing.T, client redis.UniversalClient, day, models int) {
	t.Helper()
	pipe := client.Pipeline()
	key := keysOf("search").day(day)
	pipe.HSet(t.Context(), key, "day", day)
	for n := range models {
		pipe.HSet(t.Context(), key, fmt.Sprintf("made-up-%d|text|requests", n), 1, fmt.Sprintf("made-up-%d|text|tokens", n), 7)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestLedgerIsReadInSmallSteps: however large a team's ledger is, no round trip reads much of it, and small days
// share one. All rows are returned.
func TestLedgerIsReadInSmallSteps(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	w := &sniffer{sent: map[string]int{}}
	days := []int{20261001}
	fillDay(t, f.client, days[0], 8000)
	for n := range 60 {
		days = append(days, 20261101+n)
		if n%2 == 0 {
			fillDay(t, f.client, days[n+1], 3+n)
		}
	}
	f.client.AddHook(w)
	rows, err := f.redis.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days, Most: 100_000})
	want := 8000
	for n := 0; n < 60; n += 2 {
		want += 3 + n
	}
	if err != nil || len(rows) != want {
		t.Fatalf("%d rows, want %d (%v)", len(rows), want, err)
	}
	for i := range rows {
		if r := &rows[i]; r.Team != "search" || r.Used != (limit.Amounts{limit.Requests: 1, limit.Tokens: 7}) ||
			r.Endpoint != policy.EndpointText {
			t.Fatalf("a row is %+v", r)
		}
	}
	if w.most > readStep+readStep/2 || w.read < 2*want {
		t.Errorf("a round trip read %d fields, all of them %d", w.most, w.read)
	}
	if w.sent["hgetall"] > 0 || w.sent["hscan"] > 2*2*want/readStep+40 {
		t.Errorf("sent %v", w.sent)
	}
}

// TestLedgerTakesNoMoreNames: once a day's ledger has its 4,000 fields, new names are posted to other by every
// script, one or many in a call.
func TestLedgerTakesNoMoreNames(t *testing.T) {
	const bound, one = 4000, 8 // fields; those of one name at most
	for about, post := range map[string]func(f *form, team *teams.Team, held []*limit.Charge){
		"batch": func(f *form, _ *teams.Team, held []*limit.Charge) { f.redis.SettleAll(f.Context(), held, true) },
		"one by one": func(f *form, _ *teams.Team, held []*limit.Charge) {
			for _, c := range held {
				_, _ = f.redis.Settle(f.Context(), c)
			}
		},
		"estimated": func(f *form, _ *teams.Team, held []*limit.Charge) {
			for _, c := range held {
				c.Estimated = true
			}
			f.redis.SettleAll(f.Context(), held, true)
		},
		"sweep": func(f *form, _ *teams.Team, _ []*limit.Charge) {
			f.clock.Move(2 * time.Hour)
			_, _ = f.redis.Sweep(f.Context(), "search", 200)
		},
		"admission": func(f *form, team *teams.Team, held []*limit.Charge) {
			f.clock.Move(2 * time.Hour)
			for n := range held {
				f.ask(hold(fmt.Sprint("late", n), team, limit.Amounts{limit.Requests: 1}))
			}
		},
		"adjust": func(f *form, _ *teams.Team, held []*limit.Charge) {
			for n := range held {
				_, _ = f.redis.Adjust(f.Context(), limit.Correction{ID: fmt.Sprint("a", n), Team: "search", Unit: unit.NameTokens, Delta: 5,
					Why: "why"})
			}
			f.redis.SettleAll(f.Context(), held, true)
		},
	} {
		t.Run(about, func(t *testing.T) {
			f := newRedisForm(t, limittest.RealRedis(t))
			team, used := limittest.Team(t, "quotas: {tokens: {day: 1000000}}"),
				limit.Amounts{limit.Requests: 1, limit.Tokens: 9, limit.Images: 2, limit.Spend: 3}
			fillDay(t, f.client, 20261121, bound/2-1)
			var held []*limit.Charge
			for n := range 100 {
				h := hold(id(n), team, used)
				h.Model = fmt.Sprint("new|", n)
				held = append(held, &limit.Charge{Held: f.ask(h).Held, Team: team, Amounts: used})
			}
			post(f, team, held)
			fields := f.client.HLen(t.Context(), keysOf("search").day(20261121)).Val()
			if fields > bound+2*one {
				t.Errorf("the day has %d fields", fields)
			}
			rows, err := f.redis.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261121}})
			var sum limit.Amounts
			for i := range rows {
				sum = sum.Plus(rows[i].Used)
			}
			if err != nil || sum[limit.Images] != 200 || sum[limit.Spend] != 300 {
				t.Errorf("not all was posted: %+v (%v)", sum, err)
			}
		})
	}
}

// TestLedgerOfTooManyRows: a team gets its ledger up to a bound, and the rest is not read.
func TestLedgerOfTooManyRows(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	w := &sniffer{sent: map[string]int{}}
	fillDay(t, f.client, 20261120, 300)
	fillDay(t, f.client, 20261121, 8000)
	f.client.AddHook(w)
	for most, want := range map[int]error{8300: nil, 8299: limit.ErrRows, 300: limit.ErrRows} {
		w.read = 0
		rows, err := f.redis.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261120, 20261121}, Most: most})
		if !errors.Is(err, want) || want == nil && len(rows) != 8300 || want != nil && rows != nil {
			t.Errorf("of %d: %d rows, %v", most, len(rows), err)
		}
		if w.read > 2*most+2*readStep {
			t.Errorf("of %d: %d fields were read", most, w.read)
		}
	}
	if rows, err := f.redis.Rows(t.Context(), limit.Query{Teams: []string{"shop"}, Days: []int{20261121}, Most: 1}); err != nil ||
		len(rows) != 0 {
		t.Errorf("of a team that used nothing: %v, %v", rows, err)
	}
	m := limit.NewMemory(f.clock.Now)
	team := limittest.Team(t)
	for n := range 3 {
		h := hold(id(n), team, limit.Amounts{limit.Requests: 1})
		h.Model, h.Lease = fmt.Sprint("m", n%2), time.Hour
		v, _ := m.Admit(t.Context(), &h)
		_, _ = m.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: team, Amounts: h.Amounts})
	}
	for most, want := range map[int]error{2: nil, 1: limit.ErrRows} {
		if rows, err := m.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261120, 20261121}, Most: most}); !errors.Is(err,
			want) || want == nil && len(rows) != 2 {
			t.Errorf("of %d in memory: %v, %v", most, rows, err)
		}
	}
	if rows, err := m.Rows(t.Context(), limit.Query{Teams: []string{"shop"}, Days: []int{20261121}, Most: 1}); err != nil || len(rows) != 0 {
		t.Errorf("of a team that used nothing: %v, %v", rows, err)
	}
}
