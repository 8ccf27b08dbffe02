package registry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/directory"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Trail is the audit, read from its end.
type Trail interface {
	// Latest calls visit with the text of each entry, the newest first, until it returns false.
	Latest(ctx context.Context, visit func(text []byte) bool) error
}

// Accounts keep what teams may still spend.
type Accounts interface {
	// Adjust corrects what a team used. It MUST happen once for an id, however often it is called.
	Adjust(ctx context.Context, id, team string, unit teams.Unit, delta int64, why string) (limit.Adjustment, error)
}

// Tasks cancels tasks at the service.
type Tasks interface {
	// Has reports whether a task is a team's.
	Has(ctx context.Context, team, task string) (bool, error)
	// Cancel cancels a task that the team has. A nil error means that the service took it; an [*Error] is for the person.
	Cancel(ctx context.Context, team, task string) error
}

// Deps are what the registry works with. Tasks may be nil: no task is known then.
type Deps struct {
	Directory directory.Store
	Trail     Trail
	File      func() *teams.File // the teams in force, or the teams file alone
	Accounts  Accounts
	Tasks     Tasks
	Now       func() time.Time
	Random    io.Reader // a cryptographic source, for keys
	// InForce is the directory that this process has in force. A store with an older one has lost it, and is written back soon, over
	// any change made meanwhile. Nil: not known.
	InForce func() directory.State
	// PaceReached and AuditReached are called when [PaceBound] and [AuditBound] have turned a change away. Nil: nobody is told.
	PaceReached, AuditReached func()
}

// Registry is the teams. It is safe for concurrent use.
type Registry struct {
	Deps
	pace pace
	turn chan struct{} // holds a value while one change is made: many at once would lose their races against each other

	mu       sync.Mutex
	head     string             // of the directory that was read last
	text     []byte             // its document
	document directory.Document // and what that says
	known    bool               // it was read
}

// New returns the registry.
func New(deps Deps) *Registry {
	if deps.InForce != nil {
		deps.Directory = whole{deps.Directory, deps.InForce}
	}
	return &Registry{Deps: deps, turn: make(chan struct{}, 1)}
}

// commit makes a change of the directory when it is its turn.
func (r *Registry) commit(ctx context.Context, a Actor, decide func(directory.Document) (directory.Change, error)) (d directory.Document, err error) {
	err = r.inTurn(ctx, func() (err error) {
		d, err = directory.Commit(ctx, r.Directory, r.order(a), decide)
		return err
	})
	return d, err
}

// note writes an entry about a change elsewhere when it is its turn.
func (r *Registry) note(ctx context.Context, order directory.Order, entry directory.Entry) error {
	return r.inTurn(ctx, func() error { return directory.Note(ctx, r.Directory, order, entry) })
}

func (r *Registry) inTurn(ctx context.Context, do func() error) error {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
		err, theirs := do(), (*directory.Error)(nil)
		if errors.As(err, &theirs) && theirs.Kind == directory.Full {
			return r.full(theirs)
		}
		return told(err)
	case <-ctx.Done():
		return told(ctx.Err())
	}
}

// whole is a directory that is not read while its store has lost it.
type whole struct {
	directory.Store
	inForce func() directory.State
}

var errLostStore = errors.New("the store has lost the directory in force, which is written back soon")

// Read implements [directory.Store].
func (w whole) Read(ctx context.Context) (directory.State, error) {
	known := w.inForce() // before the store, which has it or a later one then
	s, err := w.Store.Read(ctx)
	if err == nil && s.Before(known) {
		err = errLostStore
	}
	return s, err
}

// Actor is a person and where the request comes from.
type Actor struct {
	access.Person
	Address string // of the client; one line
	Reason  string // why, as the person gave it; may be empty
}

func (r *Registry) order(a Actor) directory.Order {
	o := directory.Order{Who: a.Name, Address: a.Address, Reason: a.Reason, Now: r.Now()}
	if !a.Changes() {
		o.Most = auditMost
	}
	return o
}

// open returns the directory, read again if it has changed.
func (r *Registry) open(ctx context.Context) (directory.Document, error) {
	head, err := r.Directory.Head(ctx)
	if err != nil {
		return directory.Document{}, told(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known && head == r.head {
		return r.document, nil
	}
	s, err := r.Directory.Read(ctx)
	if err != nil {
		return directory.Document{}, told(err)
	}
	if err := s.Check(); err != nil {
		return directory.Document{}, told(err)
	}
	if !r.known || !bytes.Equal(s.Document, r.text) { // else only entries were added
		d, err := s.Open()
		if err != nil {
			return d, told(err)
		}
		r.text, r.document = s.Document, d
	}
	r.head, r.known = s.Head(), true
	return r.document, nil
}

// openUsed returns the directory, and when keys were last used. It asks for both at the same time.
func (r *Registry) openUsed(ctx context.Context) (d directory.Document, used map[string]time.Time, err error) {
	var errUsed error
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		used, errUsed = r.Directory.Used(ctx)
	}()
	d, err = r.open(ctx)
	<-asked
	if err == nil {
		err = told(errUsed)
	}
	return d, used, err
}

// find returns a team that the person may see, and who owns it. If both have it, the file's counts.
func (r *Registry) find(d directory.Document, p access.Person, id string) (directory.Team, teams.Owner, error) {
	if !p.Sees(id) {
		return directory.Team{}, "", errNoTeam
	}
	if text := r.File().Text(id); text != nil {
		team, err := directory.ReadTeam(text)
		return team, teams.OwnerFile, told(err)
	}
	team, ok := d.Team(id)
	if !ok {
		return team, "", errNoTeam
	}
	return team, teams.OwnerDirectory, nil
}

// need is a team of the directory that the person may change.
func (r *Registry) need(d directory.Document, p access.Person, id string, may bool) (directory.Team, error) {
	team, owner, err := r.find(d, p, id)
	switch {
	case err != nil:
		return team, err
	case !may:
		return team, errMayNot
	case owner == teams.OwnerFile:
		return team, errOfFile
	}
	return team, nil
}
