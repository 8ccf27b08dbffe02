package accounts

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/account"
)

// Shared is what all replicas know of throttled accounts. [Redis] implements it. Without it each process knows what it hears.
type Shared interface {
	// Tell MUST make a pause known to the others, unless a longer one is.
	Tell(ctx context.Context, p Pause) error
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
	// mostNews bounds the pauses that wait to be told. Those that have no room are learned by each replica for itself.
	mostNews = 256
	// learnEvery is the time between two looks at what the others know. It bounds how long a replica goes on to ask a throttled account.
	learnEvery = 500 * time.Millisecond
	// sharedCall bounds one call.
	sharedCall = time.Second
)

// cooled is a pause that the others are told.
type cooled struct {
	account, model string
	pause          account.Pause
}

// tell has the others told. It does not wait. Without an accounts file nothing is told: pauses refuse nothing.
func (r *Roster) tell(c cooled) {
	if r.config.Shared == nil || r.now.Load().sole != nil {
		return
	}
	select {
	case r.news <- c:
	default:
	}
}

// Run tells the other replicas what this one hears, and learns what they know, until ctx ends. One goroutine runs it. An error means that
// Redis is away, which is logged elsewhere: each replica then knows what it hears.
func (r *Roster) Run(ctx context.Context) {
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
			_ = r.config.Shared.Tell(call, Pause{c.account, c.model, p.Until.Sub(r.config.Now()), p.Step, p.Why})
			cancel()
		case <-tick.C:
			r.learn(ctx)
		}
	}
}

// learn notes what the others know.
func (r *Roster) learn(ctx context.Context) {
	roll := r.now.Load()
	if roll.sole != nil {
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
		if a := roll.known[p.Account]; a != nil { // also of one that was removed, and may come back
			a.learn(p.Model, account.Pause{Until: now.Add(p.Wait), Step: p.Step, Since: now, Why: p.Why}, now)
		}
	}
}

// learn notes a pause that another replica has heard of.
func (a *Account) learn(model string, known account.Pause, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.health.Learn(model, known, now)
	a.ill.Store(true)
}

//go:embed scripts/*.lua
var scripts embed.FS

var (
	tellScript   = script("tell")
	pausesScript = script("pauses")
)

func script(name string) *redis.Script {
	text, err := scripts.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // it is not embedded
	}
	return redis.NewScript(string(text))
}

// coolingKey has the pauses of all accounts, and lives as long as the longest.
const coolingKey = "sl1:cooling"

// errReply is the error of a reply that is not one of these scripts.
var errReply = errors.New("Redis sent the reply to another call")

// Redis is what all replicas know, in Redis. It is safe for concurrent use.
type Redis struct {
	client  redis.Scripter
	timeout time.Duration // of a call
}

// NewRedis shares pauses by a Redis.
func NewRedis(client redis.Scripter, timeout time.Duration) *Redis { return &Redis{client, timeout} }

// Tell makes a pause known to the other replicas, unless a longer one is.
func (r *Redis) Tell(ctx context.Context, p Pause) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return tellScript.Run(ctx, r.client, []string{coolingKey}, p.Account+" "+p.Model, p.Wait.Milliseconds(), p.Step.Milliseconds(), p.Why).Err()
}

// Pauses returns the pauses that have not ended.
func (r *Redis) Pauses(ctx context.Context) ([]Pause, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	texts, err := pausesScript.Run(ctx, r.client, []string{coolingKey}).StringSlice()
	if err != nil {
		return nil, err
	}
	list := make([]Pause, 0, len(texts)/2)
	for i := 0; i+1 < len(texts); i += 2 {
		p, err := readPause(texts[i], texts[i+1])
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// readPause reads "account model" and "wait step why", the times in ms.
func readPause(name, text string) (p Pause, err error) {
	of, model, named := strings.Cut(name, " ")
	words := strings.SplitN(text, " ", 3)
	if !named || len(words) != 3 {
		return p, errReply
	}
	wait, failed := strconv.ParseInt(words[0], 10, 64)
	step, err := strconv.ParseInt(words[1], 10, 64)
	if err = errors.Join(failed, err); err != nil {
		return p, fmt.Errorf("%w: %w", errReply, err)
	}
	return Pause{of, model, time.Duration(wait) * time.Millisecond, time.Duration(step) * time.Millisecond, words[2]}, nil
}
