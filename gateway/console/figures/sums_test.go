package figures

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/limittest"
	"sluice/policy/price"
	"sluice/policy/teams"
)

// alone is the keeper of a single process.
type alone struct{ Keeper }

func (alone) Lead(context.Context, time.Duration) (bool, error) { return true, nil }

// TestLateChangesShow: however late a charge, and whatever sums, process or Redis lose, Money agrees with the ledger. Requests
// are charged up to weeks after their day, while the sums of that day are kept.
func TestLateChangesShow(t *testing.T) {
	t.Parallel()
	client := limittest.RealRedis(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := standOn(t, client)
		defer s.close()
		h := &lateHistory{stand: s}
		s.kept = alone{watched{s.kept, h}}
		s.start()
		h.others = s.figures
		s.start()
		s.Move(-60 * 24 * time.Hour)
		rt.Repeat(map[string]func(*rapid.T){
			"":         func(*rapid.T) {},
			"wait":     func(rt *rapid.T) { s.Move(time.Duration(rapid.IntRange(1, 100).Draw(rt, "hours")) * time.Hour) },
			"charge":   h.charge,
			"open":     h.open,
			"settle":   h.settleOne,
			"look":     h.look,
			"maintain": h.maintain,
			"restart":  func(*rapid.T) { s.start() },
			"lose":     h.lose,
			"swap":     func(*rapid.T) { s.figures, h.others = h.others, s.figures },
			"forget":   h.forget,
		})
		h.look(rt)
	})
}

// lateHistory is a sequence of events in a house.
type lateHistory struct {
	*stand
	holds  []*limit.Held
	others *Figures // of another replica
	back   func()   // to an older copy of Redis's memory
	saves  int      // of sums, until enough is called
	enough func()
}

// watched counts the sums that are saved.
type watched struct {
	Keeper
	of *lateHistory
}

func (w watched) Save(ctx context.Context, sums map[DayBy]Sum) error {
	if w.of.saves--; w.of.saves == 0 {
		w.of.enough()
	}
	return w.Keeper.Save(ctx, sums)
}

// maintain makes the missing sums of the newest days. The history is shorter than the ledger.
func (h *lateHistory) maintain(*rapid.T) {
	ctx, stop := context.WithCancel(h.Context())
	defer stop()
	h.saves, h.enough = 40, stop
	h.figures.maintain(ctx)
	h.saves = 0
}

func (h *lateHistory) draw(rt *rapid.T) (team, model string) {
	h.tag = rapid.SampledFrom([]string{"", "alpha", "beta"}).Draw(rt, "tag")
	h.key = rapid.SampledFrom([]string{"", "7f3k9q2m4x1c", "jwt:indexer"}).Draw(rt, "key")
	h.endpoint = rapid.SampledFrom([]policy.Endpoint{policy.EndpointText, policy.EndpointImage}).Draw(rt, "endpoint")
	return rapid.SampledFrom([]string{"search", "shop"}).Draw(rt, "team"), rapid.SampledFrom([]string{"a", "c|d"}).Draw(rt, "model")
}

func amountsOf(rt *rapid.T) limit.Amounts {
	return limit.Amounts{1, rapid.Int64Range(0, 50).Draw(rt, "tokens"), rapid.Int64Range(0, 3).Draw(rt, "images"),
		rapid.Int64Range(0, 1e6).Draw(rt, "spend")}
}

func (h *lateHistory) charge(rt *rapid.T) {
	team, model := h.draw(rt)
	h.use(team, model, h.endpoint, rapid.Bool().Draw(rt, "estimated"), amountsOf(rt))
}

func (h *lateHistory) open(rt *rapid.T) {
	team, model := h.draw(rt)
	h.holds = append(h.holds, h.admit(team, model, 60*24*time.Hour))
}

func (h *lateHistory) settleOne(rt *rapid.T) {
	if len(h.holds) == 0 {
		rt.Skip()
	}
	h.settle(h.holds[0], rapid.Bool().Draw(rt, "estimated"), amountsOf(rt))
	h.holds = h.holds[1:]
}

// lose loses the sums of a day.
func (h *lateHistory) lose(rt *rapid.T) {
	day := price.DayOf(h.Now().AddDate(0, 0, -rapid.IntRange(0, 40).Draw(rt, "day")))
	if err := h.client.Del(h.Context(), fmt.Sprint("sl1:days:", day)).Err(); err != nil {
		rt.Fatal(err)
	}
}

// forget empties Redis, or has it go back to an older copy.
func (h *lateHistory) forget(rt *rapid.T) {
	shared := h.balances.(*failover.Failover)
	h.Move(time.Second)
	_ = shared.Maintain(h.Context()) // there is a beat
	switch do := rapid.IntRange(0, 3).Draw(rt, "do"); {
	case do == 0:
		h.client.FlushDB(h.Context())
	case do == 1 && h.back != nil:
		h.back()
	default:
		h.back = limittest.Copy(h.T, h.client)
	}
	for range 4 {
		h.Move(time.Second)
		_ = shared.Maintain(h.Context())
	}
}

func (h *lateHistory) look(rt *rapid.T) {
	h.Move(freshFor)
	first := rapid.IntRange(-80, 0).Draw(rt, "from")
	q := MoneyQuery{From: h.Now().AddDate(0, 0, first).Format(limit.DayForm), To: h.Now().Format(limit.DayForm),
		By: rapid.SampledFrom(dimensions).Draw(rt, "by")}
	h.compare(rt, operator, q)
}

// keptDays keeps sums in memory.
type keptDays struct {
	mu    sync.Mutex
	leads int
	sums  map[DayBy]Sum
	saved []int
}

func (k *keptDays) Load(context.Context, []int, []string) (map[DayBy]Sum, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.sums), nil
}

func (k *keptDays) Save(_ context.Context, sums map[DayBy]Sum) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.Copy(k.sums, sums)
	for of := range sums {
		if of.By == "endpoint" && of.Day > 999999 { // a day
			k.saved = append(k.saved, of.Day)
		}
	}
	return nil
}

// made returns the days of the sums that were made, in order.
func (k *keptDays) made() []int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.saved)
}

func (k *keptDays) Lead(context.Context, time.Duration) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.leads++
	return k.leads%2 == 0, nil // another process has its turn first
}

// slowLedger is empty, and takes 20 ms for each day.
type slowLedger struct{ Balances }

func (slowLedger) Rows(_ context.Context, q limit.Query) ([]limit.Row, error) {
	if q.By != limit.ScopeTeam {
		return nil, nil
	}
	time.Sleep(time.Duration(len(q.Days)) * 20 * time.Millisecond)
	return nil, nil
}

func (slowLedger) Versions(_ context.Context, days []int) ([]uint64, error) {
	return make([]uint64, len(days)), nil
}

func (slowLedger) Days(context.Context, limit.ScopeKind, []int) (map[int]limit.DayRows, error) {
	return nil, nil
}

// TestSumsAreMadeAhead: within two minutes of the start all days have their sums, the newest first, each made once; a reader
// meanwhile is asked to wait. Later each is made again once a day.
func TestSumsAreMadeAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &keptDays{sums: map[DayBy]Sum{}}
		f := New(Deps{Balances: slowLedger{}, Days: kept, House: slowLedger{}, Now: time.Now})
		var running sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		running.Go(func() { f.Run(ctx) })
		time.Sleep(20 * time.Second)
		q := MoneyQuery{time.Now().AddDate(0, 0, 1-limit.LedgerDays).Format(limit.DayForm), time.Now().Format(limit.DayForm), "team", "", nil}
		_, err := f.Money(t.Context(), operator, q)
		if adding := (*AddingError)(nil); !errors.As(err, &adding) || adding.Missing < 100 || adding.Missing >= adding.Days {
			t.Errorf("in between: %v", err)
		}
		time.Sleep(100 * time.Second)
		if _, err := f.Money(t.Context(), operator, q); err != nil {
			t.Error(err)
		}
		past := limit.LedgerDays - 4
		if saved := kept.made(); len(saved) < past || len(saved) > past+1 || saved[0] <= saved[1] {
			t.Errorf("%d sums were made, the first of %v; want %d", len(saved), saved[:2], past)
		}
		time.Sleep(48 * time.Hour)
		stop()
		running.Wait()
		if n := len(kept.made()) - past; n < past || n > 3*past {
			t.Errorf("in two more days %d sums were made, want about %d", n, 2*past)
		}
	})
}

// TestSumsOfRestoredTags: replicas restore each tag value's use on the days of a month, also on days with stored sums. Those sums
// are made again.
func TestSumsOfRestoredTags(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ older, look bool }{
		"Redis is empty and is read before it is restored":    {look: true},
		"Redis goes back to a copy from before a late charge": {older: true},
	} {
		t.Run(name, func(t *testing.T) {
			client := limittest.RealRedis(t)
			s := standOn(t, client)
			var err error
			if s.file, err = teams.Parse([]byte("teams: [{id: search, tag_key: project, tag_quotas: {tokens: {month: 1000}}}]")); err != nil {
				t.Fatal(err)
			}
			maintain := s.balances.(interface {
				Maintain(ctx context.Context) error
			}).Maintain
			q := MoneyQuery{From: "2026-11-01", To: "2026-11-30", By: "tag"}
			s.Move(-15 * 24 * time.Hour)
			s.tag = "alpha"
			s.use("search", "a", policy.EndpointText, false, limit.Amounts{1, 5})
			late := s.admit("search", "a", 60*24*time.Hour)
			s.Move(10 * 24 * time.Hour)
			_ = maintain(t.Context())
			s.compare(t, operator, q)
			back := limittest.Copy(t, client)
			s.settle(late, false, limit.Amounts{1, 3})
			s.use("search", "a", policy.EndpointText, false, limit.Amounts{1, 2}) // today has what the ledger of the month lost
			s.Move(freshFor)
			s.compare(t, operator, q)
			_ = maintain(t.Context())
			client.FlushDB(t.Context())
			if tt.older {
				back()
			}
			s.Move(freshFor)
			if tt.look {
				s.compare(t, operator, q)
			}
			for range 4 {
				s.Move(time.Second)
				_ = maintain(t.Context())
			}
			s.Move(freshFor)
			s.compare(t, operator, q)
		})
	}
}

// TestSumsOfAChangedLedger: other tools' changes to the ledger show within a day, also in the sum of their month.
func TestSumsOfAChangedLedger(t *testing.T) {
	t.Parallel()
	client := limittest.RealRedis(t)
	s := standOn(t, client)
	s.kept = alone{s.kept}
	s.start()
	s.use("search", "a", policy.EndpointText, false, limit.Amounts{1, 5})
	day := price.DayOf(s.Now())
	s.Move(20 * 24 * time.Hour)
	q := MoneyQuery{From: s.Now().AddDate(0, 0, -60).Format(limit.DayForm), To: s.Now().Format(limit.DayForm), By: "model"}
	s.compare(t, operator, q)
	client.HIncrBy(t.Context(), fmt.Sprintf("sl1:{search}:use:%d", day), "a|text|tokens", 3)
	s.Move(ageing)
	for range limit.LedgerDays / agedOnce {
		s.figures.maintain(t.Context())
	}
	s.compare(t, operator, q)
}

// manyTags is a ledger whose days have more tags than a sum keeps.
type manyTags struct {
	Balances
	rows []limit.Row
}

func (m manyTags) Rows(context.Context, limit.Query) ([]limit.Row, error) { return m.rows, nil }

// TestManyTagsTakeLittleMemory: days with too many tags for a sum are read in parts, one in memory at a time.
func TestManyTagsTakeLittleMemory(t *testing.T) {
	m := manyTags{rows: make([]limit.Row, readAtOnce*(mostParts+1))}
	asked := lastDays(time.Now(), limit.LedgerDays)
	for i := range m.rows {
		m.rows[i] = limit.Row{Team: "search", Day: asked[i%readAtOnce], Tag: fmt.Sprint("tag-", i%(mostParts+1)), Used: limit.Amounts{1}}
	}
	f := New(Deps{Balances: m, Now: time.Now})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	by := adder{days: &spendDays{days: len(asked)}}
	err := f.byPart(t.Context(), &by, "tag", true, &book{}, nil, asked, Use{})
	runtime.ReadMemStats(&after)
	if err != nil || len(by.rows) != mostParts+2 {
		t.Errorf("%d tags, %v", len(by.rows), err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 16 {
		t.Errorf("adding up took %d MiB", took)
	}
}

// TestDaysBeforeTheLedgerAreReadBesideToday: such a day is over, and is read like those that may change. It stays while it is asked for,
// also if it was read later than today.
func TestDaysBeforeTheLedgerAreReadBesideToday(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	l := &ledger{all: limit.House{Memory: limit.NewMemory(func() time.Time { return now })}, now: func() time.Time { return now },
		late: lateDefault, fresh: freshFor}
	old, today := price.DayOf(now.AddDate(0, 0, -limit.LedgerDays)), price.DayOf(now)
	for _, days := range [][]int{{today}, {old, today}, {old, today}} {
		if sums, err := l.openDays(t.Context(), days, []string{"team"}); err != nil || len(sums) != len(days) {
			t.Errorf("%d sums of %v: %v", len(sums), days, err)
		}
		now = now.Add(freshFor/2 + time.Millisecond)
	}
}

// TestSumsAreReadAgainAfterAChange by another replica, also if Redis lost them, and else not: the stamp alone is read.
func TestSumsAreReadAgainAfterAChange(t *testing.T) {
	t.Parallel()
	client := limittest.RealRedis(t)
	here, there := NewRedisSums(client), NewRedisSums(client)
	of, by := DayBy{20261101, "tag"}, []string{"endpoint", "tag"}
	sum := func(requests int64) Sum {
		return newSum(7, time.Unix(1e9, 0), []Row{{Name: "alpha", Use: Use{Used: limit.Amounts{requests}}}}, true)
	}
	is := func(about string, want int64) {
		t.Helper()
		for range 2 {
			got, err := here.Load(t.Context(), []int{of.Day}, by)
			s, found := got[of]
			if err != nil || found != (want > 0) || s.rows != sum(want).rows && found {
				t.Errorf("%s: %v, %v", about, got, err)
			}
		}
	}
	is("before there is one", 0)
	for n := range int64(3) {
		if err := there.Save(t.Context(), map[DayBy]Sum{of: sum(n + 1)}); err != nil {
			t.Fatal(err)
		}
		is("after a change", n+1)
	}
	client.HSet(t.Context(), sumsKey(of.Day), of.By, "not a sum")
	is("with the same stamp", 3)
	client.FlushDB(t.Context())
	is("after a loss", 0)
}
