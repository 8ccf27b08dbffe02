package gateway

import (
	"testing"
	"time"

	"sluice/gateway/refusal"
	"sluice/gateway/turn"
	"sluice/policy/limit"
)

// At the end of a wait a client is told what is left of the wait that its last try named, not that which there was then.
func TestTheEndOfAWaitNamesWhatIsLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		waiter     *turn.Waiter
		then, left time.Duration
		want       time.Duration
	}{
		"a try a while ago":           {new(turn.Waiter), 12 * time.Second, 2 * time.Second, 2 * time.Second},
		"what ends sooner by a quota": {new(turn.Waiter), 2 * time.Second, 12 * time.Second, 2 * time.Second},
		"nothing else is known":       {new(turn.Waiter), 12 * time.Second, 0, 12 * time.Second},
		"it did not wait":             {nil, 12 * time.Second, 20 * time.Second, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := &passage{s: new(requestState), waiter: tt.waiter, failed: turn.ErrLate, out: turn.Outcome{Wait: tt.left}}
			p.err = refusal.New(refusal.Rate).Say("It fits later.").Retry(tt.then)
			if got := refusal.As(p.end()); got.Name != refusal.Rate.Name || got.After != tt.want {
				t.Errorf("%s after %v, want %v", got.Name, got.After, tt.want)
			}
		})
	}
}

// Each try has its own id on each account, also where an account's name is a number.
func TestTriesOnAccountsHaveIdsOfTheirOwn(t *testing.T) {
	s, seen := &requestState{}, map[string]bool{}
	s.ID = "018f"
	for range 3 {
		id := holdID(s)
		for _, account := range []string{"", "2", "3", "spare"} {
			placed := (&limit.Hold{ID: id, Account: account}).OnAccount().ID
			if seen[placed] || limit.RequestOf(placed) != s.ID {
				t.Errorf("%s twice, or not of its request", placed)
			}
			seen[placed] = true
		}
	}
}
