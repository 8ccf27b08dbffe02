package failover

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// keyed is a team with a key that has limits of its own, and one that has none.
func keyed(t testing.TB, limits string, lines ...string) *teams.Team {
	return limittest.Team(t,
		append(lines, fmt.Sprintf("keys: [{id: aaaaaaaaaaaa, sha256: \"%064x\", %s}, {id: bbbbbbbbbbbb, sha256: \"%064x\"}]", 1, limits, 2))...)
}

// with asks with a key.
func (s *harness) with(id, key string, team *teams.Team, a limit.Amounts) (limit.Verdict, error) {
	h := hold(id, team, a)
	h.Key, h.Lease = key, time.Hour
	return s.Failover.Admit(s.Context(), &h)
}

// Without Redis, requests that a quota of their key counts are refused; those of other keys spend the team's allowance. Afterwards
// each is charged to its key.
func TestKeyQuotasAwaitRedis(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := keyed(s, "quotas: {images: {day: 100}}", "quotas: {tokens: {day: 10000}, images: {day: 10000}}")
		text, image := limit.Amounts{limit.Requests: 1, limit.Tokens: 5}, limit.Amounts{limit.Requests: 1, limit.Images: 4}
		s.charge(s.must("seen", team, text), team, text)
		s.settled()
		s.back() // it has an allowance from now on
		s.fault.mode.Store(away)
		if v, err := s.with("counted", "aaaaaaaaaaaa", team, image); v.Held != nil || err == nil {
			s.Errorf("the key's quota was not known: %+v, %v", v, err)
		}
		for id, of := range map[string]struct {
			key string
			a   limit.Amounts
		}{"in no unit of the quota": {"aaaaaaaaaaaa", text}, "another key": {"bbbbbbbbbbbb", image}, "a token": {"jwt:indexer", image}} {
			v, err := s.with(id, of.key, team, of.a)
			if err != nil || v.Held == nil {
				s.Fatalf("%s: %+v, %v", id, v, err)
			}
			s.charge(v.Held, team, of.a)
		}
		s.back()
		s.settled()
		rows, err := s.Rows(s.Context(), limit.Query{Teams: []string{team.ID}, Days: []int{20261121}, By: limit.ScopeKey})
		got := ""
		for _, r := range rows {
			got += fmt.Sprintf("%s %d tokens %d images ", r.Key, r.Used[limit.Tokens], r.Used[limit.Images])
		}
		if err != nil || got != "aaaaaaaaaaaa 5 tokens 0 images bbbbbbbbbbbb 0 tokens 4 images jwt:indexer 0 tokens 4 images " {
			s.Errorf("%v %s", err, got)
		}
	})
}

// A replica's share of a key's rate holds without Redis, beside its share of the team's, and what passed is taken from Redis's bucket
// afterwards.
func TestKeyRatesWithoutRedis(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := keyed(s, "rates: {requests: {per: 1h, limit: 8}}")
		one := limit.Amounts{limit.Requests: 1}
		s.charge(s.must("seen", team, one), team, one)
		s.back()
		s.fault.mode.Store(away)
		passed := 0
		for n := range 20 {
			v, err := s.with(fmt.Sprint("away-", n), "aaaaaaaaaaaa", team, one)
			if err != nil {
				s.Fatal(err)
			}
			if v.Held == nil {
				if v.Reason != limit.ReasonRate || v.Fault.Scope != limit.ScopeKey || v.Fault.Of != "aaaaaaaaaaaa" {
					s.Fatalf("%+v", v)
				}
				break
			}
			passed++
			s.charge(v.Held, team, one)
		}
		if passed == 0 || passed > 8 {
			s.Fatalf("%d passed", passed)
		}
		if v, err := s.with("another", "bbbbbbbbbbbb", team, one); err != nil || v.Held == nil {
			s.Errorf("another key: %+v, %v", v, err)
		}
		s.back()
		s.settled()
		more := 0
		for n := range 20 {
			if v, err := s.with(fmt.Sprint("back-", n), "aaaaaaaaaaaa", team, one); err != nil {
				s.Fatal(err)
			} else if v.Held != nil {
				more++
			}
		}
		if passed+more != 8 {
			s.Errorf("%d passed without Redis and %d with it, want 8", passed, more)
		}
	})
}
