package gateway

import (
	"testing"
	"time"

	"sluice/gateway/turn"
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
			p.err = refuse(refuseRate).say("It fits later.").retry(tt.then)
			if got := asRefusal(p.end()); got.name != refuseRate.name || got.after != tt.want {
				t.Errorf("%s after %v, want %v", got.name, got.after, tt.want)
			}
		})
	}
}
