package figures

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// TestSumsOfALostMemory: after Redis has lost its memory, or has gone back to an older copy, Money has what the ledger has, also of days
// whose sums this process has read before.
func TestSumsOfALostMemory(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]bool{"lost": false, "older": true} {
		t.Run(name, func(t *testing.T) {
			client := limittest.RealRedis(t)
			s := standOn(t, client)
			s.kept = alone{s.kept}
			s.start()
			maintain := s.accounts.(interface {
				Maintain(ctx context.Context) error
			}).Maintain
			look := func() {
				t.Helper()
				s.Move(freshFor)
				_ = maintain(t.Context())
				for _, by := range ways {
					s.compare(t, operator, MoneyQuery{From: s.Now().AddDate(0, 0, -150).Format(limit.DayForm), To: s.Now().Format(limit.DayForm), By: by})
				}
			}
			s.use("search", "a", policy.EndpointText, false, limit.Amounts{1, 5})
			_ = maintain(t.Context())
			back := limittest.Copy(t, client)
			s.use("search", "a", policy.EndpointText, false, limit.Amounts{1, 3})
			s.Move(100 * 24 * time.Hour) // longer than a replica remembers what teams used
			s.use("search", "a", policy.EndpointText, false, limit.Amounts{1, 7})
			look()
			client.FlushDB(t.Context())
			if older {
				back()
			}
			look()
		})
	}
}

// TestSumsOfAChangedLedger: what other hands change in the ledger shows in a day's time, also to a process that has read the sums before.
func TestSumsOfAChangedLedger(t *testing.T) {
	t.Parallel()
	client := limittest.RealRedis(t)
	s := standOn(t, client)
	s.kept = alone{s.kept}
	s.start()
	s.use("search", "a", policy.EndpointText, false, limit.Amounts{1, 5})
	day := dayOf(s.Now())
	s.Move(10 * 24 * time.Hour)
	q := MoneyQuery{From: s.Now().AddDate(0, 0, -20).Format(limit.DayForm), To: s.Now().Format(limit.DayForm), By: "model"}
	s.compare(t, operator, q)
	client.HIncrBy(t.Context(), fmt.Sprintf("sl1:{search}:use:%d", day), "a|text|tokens", 3)
	for n := range 33 { // the reader comes so often that its process never drops its copies
		s.Move(50 * time.Minute)
		for m := 0; n == 30 && m < limit.LedgerDays/agedOnce; m++ {
			s.figures.sums.maintain(t.Context())
		}
		if _, err := s.figures.Money(t.Context(), operator, q); err != nil {
			t.Fatal(err)
		}
	}
	s.compare(t, operator, q)
}

// manyTags is a ledger in which each day has more tags than a sum keeps.
type manyTags struct {
	Accounts
	rows []limit.Row
}

func (m manyTags) Rows(context.Context, limit.Query) ([]limit.Row, error) { return m.rows, nil }

// TestManyTagsTakeLittleMemory: days whose tags are too many for a sum are read in parts, and no more than one is in memory.
func TestManyTagsTakeLittleMemory(t *testing.T) {
	m := manyTags{rows: make([]limit.Row, readAtOnce*(mostTags+1))}
	days := sumBook{}
	asked := lastDays(time.Now(), limit.LedgerDays)
	for i := range m.rows {
		m.rows[i] = limit.Row{Team: "search", Day: asked[i%readAtOnce], Tag: fmt.Sprint("tag-", i%(mostTags+1)), Used: limit.Amounts{1}}
	}
	f := New(Deps{Accounts: m, Now: time.Now})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	by, err := f.byTag(t.Context(), days, nil, asked, Use{})
	runtime.ReadMemStats(&after)
	if err != nil || len(by) != mostTags+2 {
		t.Errorf("%d tags, %v", len(by), err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 16 {
		t.Errorf("adding up took %d MiB", took)
	}
}
