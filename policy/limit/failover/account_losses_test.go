package failover

import (
	"testing"
	"time"

	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// What is restored after a loss of Redis's memory has no account in the ledger: it belongs to main there, but not to main's quota, which is
// restored by itself.
func TestMainIsNotChargedWithWhatAllAccountsRestored(t *testing.T) {
	file, err := teams.Parse([]byte("teams:\n  - {id: shop}\n"))
	if err != nil {
		t.Fatal(err)
	}
	harnesses(t, nil, func(s *harness) {
		b := &branches{estate: &estate{T: s.T, housed: s.Failover, File: file, clock: s.clock}}
		eu, main := account("eu", 100, 0), account(teams.MainAccount, 10, 0)
		b.charge(b.take(b.on(main, "shop", 1)), 1)
		b.charge(b.take(b.on(eu, "shop", 50)), 50)
		_ = s.Maintain(s.Context())
		if err := s.client.FlushAll(s.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.clock.Move(time.Second)
		_ = s.Maintain(s.Context())
		s.clock.Move(2 * redisstore.RestoringTime)
		_ = s.Maintain(s.Context())
		b.ledger(map[string]int64{"main": 51})
		b.taken("main is restored", main.Quotas, 1, 0)
		b.take(b.on(main, "shop", 1))
		b.take(b.on(eu, "shop", 1))
		b.taken("main is asked", main.Quotas, 1, 1)
		b.taken("eu is asked", eu.Quotas, 50, 1)
	})
}

// An account's quota is out of the file for some minutes. What runs meanwhile counts in it when it is back, although all replicas were
// restarted: they ended cleanly, or two seconds after the quota was removed.
func TestAQuotaThatWasAwayOverARestartCountsWhatRan(t *testing.T) {
	file, err := teams.Parse([]byte("teams:\n  - {id: shop}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for about, end := range map[string]func(s *harness){
		"it ends cleanly": func(s *harness) { _ = s.Failover.Close(s.Context()) },
		"it dies": func(s *harness) {
			s.clock.Move(time.Second)
			_ = s.Maintain(s.Context())
		},
	} {
		t.Run(about, func(t *testing.T) {
			harnesses(t, nil, func(s *harness) {
				b := branchesOf(&estate{T: s.T, housed: s.Failover, File: file, clock: s.clock})
				eu, bare := account("eu", 10, 0), account("eu", 0, 0)
				b.charge(b.take(b.on(eu, "shop", 1)), 1)
				s.clock.Move(time.Minute)
				_ = s.Maintain(s.Context())
				b.charge(b.take(b.on(bare, "shop", 50)), 50)
				end(s)
				next := s.beside()
				s.clock.Move(time.Second)
				_ = next.Maintain(s.Context())
				b = branchesOf(&estate{T: s.T, housed: next.Failover, File: file, clock: s.clock, n: 100})
				if v := b.try(b.on(eu, "shop", 1)); v.Held != nil {
					b.Errorf("51 of 10 images are used, and yet one was admitted: %+v", v)
				}
				b.taken("after the restart", eu.Quotas, 51, 0)
			})
		})
	}
}
