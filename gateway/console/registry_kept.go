package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// kept caches the last read directory, and serializes changes.
type kept struct {
	deps *RegistryDeps
	turn chan struct{} // a lock for changes: concurrent ones would conflict with each other

	mu       sync.Mutex
	head     string // of the last read directory
	text     []byte // its document
	document teams.Document
	raises   []teams.Raise
	known    bool // it was read
}

// store returns the directory's store, guarded by whole.
func (k *kept) store() teams.Store {
	if k.deps.InForce == nil {
		return k.deps.Directory
	}
	return whole{k.deps.Directory, k.deps.InForce}
}

// whole is a store that refuses reads while it has lost the directory in force.
type whole struct {
	teams.Store
	inForce func() teams.State
}

var errLostStore = errors.New("the store has lost the directory in force, which is written back soon")

// Read implements [teams.Store].
func (w whole) Read(ctx context.Context) (teams.State, error) {
	known := w.inForce() // read before the store, so that the store must have it or a later one
	s, err := w.Store.Read(ctx)
	if err == nil && s.Before(known) {
		err = errLostStore
	}
	return s, err
}

// open returns the directory, read again if it has changed.
func (k *kept) open(ctx context.Context) (teams.Document, error) {
	head, err := k.deps.Directory.Head(ctx)
	if err != nil {
		return teams.Document{}, unusable(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known && head == k.head {
		return k.document, nil
	}
	s, err := k.store().Read(ctx)
	if err == nil {
		err = s.Check()
	}
	var raises []teams.Raise
	if err == nil {
		raises, err = teams.ReadRaises(s.Raises)
	}
	if err != nil {
		return teams.Document{}, unusable(err)
	}
	if !k.known || !bytes.Equal(s.Document, k.text) { // equal: only audit entries were added
		d, err := s.Open()
		if err != nil {
			return d, unusable(err)
		}
		k.text, k.document = s.Document, d
	}
	k.head, k.raises, k.known = s.Head(), raises, true
	return k.document, nil
}

// inForce returns the last read raises; some may have ended.
func (k *kept) inForce() []teams.Raise {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.raises
}

// openUsed returns the directory, and when keys were last used. It reads both concurrently.
func (k *kept) openUsed(ctx context.Context) (d teams.Document, used map[string]time.Time, err error) {
	var errUsed error
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		used, errUsed = k.deps.Directory.Used(ctx)
	}()
	d, err = k.open(ctx)
	<-asked
	if err == nil {
		err = unusable(errUsed)
	}
	return d, used, err
}

// commit changes the directory, in turn.
func (k *kept) commit(ctx context.Context, order teams.Order, decide teams.Decide) (d teams.Document, err error) {
	err = k.inTurn(ctx, func() (err error) {
		d, err = teams.Commit(ctx, k.store(), order, decide)
		return err
	})
	return d, err
}

// note writes an entry about a change elsewhere, in turn.
func (k *kept) note(ctx context.Context, order teams.Order, entry teams.Entry) error {
	return k.inTurn(ctx, func() error { return teams.Note(ctx, k.store(), order, entry) })
}

func (k *kept) inTurn(ctx context.Context, do func() error) error {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
		err, full := do(), (*teams.Problem)(nil)
		if errors.As(err, &full) && full.Code == teams.CodeFull {
			reach(k.deps.AuditReached)
		}
		return unusable(err)
	case <-ctx.Done():
		return unusable(ctx.Err())
	}
}

// unusable wraps an error that is not a problem yet: the directory cannot be read or written.
func unusable(err error) error {
	if problem := (*teams.Problem)(nil); err == nil || errors.As(err, &problem) {
		return err
	}
	return teams.Away("the directory cannot be used at the moment", err)
}

// The rate of changes by the members of one team together, at one replica. The audit keeps each change for 400 days.
const (
	paceMost   = 300             // cancels in a burst
	paceEvery  = 2 * time.Second // between two cancels after that
	costCancel = 1
	costKeys   = 10
	paceTeams  = 1000 // above this number, teams with full buckets are evicted
)

// auditMost bounds a team's audit entries on a day in UTC, in bytes: then changes by its members are refused. Operators' changes count, but
// are never refused. All replicas count together.
const auditMost = 4_000_000

// The bounds of members' changes, for readiness and the docs.
const (
	ChangesBound = "changes by a team's members: 300 cancels or 30 changes of keys at once, then a cancel every 2 s or a key every 20 s"
	AuditBound   = "entries in the audit by a team's members: 4 MB a day"
)

// pace limits the rate of members' changes, by team.
type pace struct {
	mu    sync.Mutex
	teams map[string]*rate.Limiter
}

// wait returns how long a team's members must wait before a change of this cost; 0: the change is allowed and counted.
func (p *pace) wait(team string, cost int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.teams[team]
	if left == nil {
		if len(p.teams) >= paceTeams {
			maps.DeleteFunc(p.teams, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= paceMost })
		}
		if p.teams == nil {
			p.teams = map[string]*rate.Limiter{}
		}
		left = rate.NewLimiter(rate.Every(paceEvery), paceMost)
		p.teams[team] = left
	}
	if left.AllowN(now, cost) {
		return 0
	}
	return time.Duration(math.Ceil((float64(cost) - left.TokensAt(now)) * float64(paceEvery)))
}

// paced refuses a member's change beyond the rate. The caller has checked the right to make it.
func (r *Registry) paced(a access.Actor, team string, cost int) error {
	if a.Changes() {
		return nil
	}
	wait := r.pace.wait(team, cost, r.Now())
	if wait == 0 {
		return nil
	}
	reach(r.PaceReached)
	return &teams.Problem{
		Code: teams.CodeOften, Text: "the team's members have changed too much lately", Wait: wait,
		Allowed: "300 cancels or 30 changes of keys at once, then one cancel every 2 s or one change of a key every 20 s",
		Advice:  fmt.Sprintf("wait %.0f s, or ask an operator", math.Ceil(wait.Seconds())),
	}
}

func reach(bound func()) {
	if bound != nil {
		bound()
	}
}
