package accounts

import (
	"context"
	"time"

	"sluice/policy/account"
)

// Shared shares throttled accounts among the replicas. [Redis] implements it. Without it each process knows only its own answers.
type Shared interface {
	// Share MUST make a pause known to the others, unless they know a longer one.
	Share(ctx context.Context, p Pause) error
	// Pauses MUST return the pauses that have not ended.
	Pauses(ctx context.Context) ([]Pause, error)
}

// Pause is how long an account is not asked for a model.
type Pause struct {
	Account, Model string
	Wait           time.Duration // from now
	Step           time.Duration // as in [account.Pause]
	Why            string        // the service's code
}

const (
	// mostNews bounds the pauses that wait to be shared. Each replica learns the others from its own answers.
	mostNews = 256
	// learnEvery is the time between two looks at what the others know. It bounds how long a replica still asks a throttled account.
	learnEvery = 500 * time.Millisecond
	// sharedCall bounds one call.
	sharedCall = time.Second
)

// cooled is a pause that is shared with the others.
type cooled struct {
	account, model string
	pause          account.Pause
}

// share queues a pause to be shared, without waiting. Without an accounts file nothing is shared, because pauses refuse nothing.
func (r *Pool) share(c cooled) {
	if r.config.Shared == nil || r.now.Load().sole != nil {
		return
	}
	select {
	case r.news <- c:
	default:
	}
}

// Run shares this replica's pauses with the others, and learns theirs, until ctx ends. One goroutine runs it. An error means that
// Redis is away, which is logged elsewhere: each replica then knows only its own answers.
func (r *Pool) Run(ctx context.Context) {
	if r.config.Shared == nil {
		return
	}
	tick := time.NewTicker(learnEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-r.news:
			call, cancel := context.WithTimeout(ctx, sharedCall)
			p := c.pause
			_ = r.config.Shared.Share(call, Pause{c.account, c.model, p.Until.Sub(r.config.Now()), p.Step, p.Why})
			cancel()
		case <-tick.C:
			r.learn(ctx)
		}
	}
}

// learn notes what the others know.
func (r *Pool) learn(ctx context.Context) {
	snapshot := r.now.Load()
	if snapshot.sole != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sharedCall)
	defer cancel()
	pauses, err := r.config.Shared.Pauses(ctx)
	if err != nil {
		return
	}
	now := r.config.Now()
	for _, p := range pauses {
		if a := snapshot.known[p.Account]; a != nil { // also a removed one, which may come back
			a.learn(p.Model, account.Pause{Until: now.Add(p.Wait), Step: p.Step, Since: now, Why: p.Why}, now)
		}
	}
}

// learn notes a pause that another replica has shared.
func (a *Account) learn(model string, known account.Pause, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.health.Learn(model, known, now)
	a.ill.Store(true)
}
