package api

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"sluice/policy/teams"
)

// kept is the directory that was read last, and whose turn it is to change it.
type kept struct {
	deps *RegistryDeps
	turn chan struct{} // holds a value while one change is made: many at once would lose their races against each other

	mu       sync.Mutex
	head     string         // of the directory that was read last
	text     []byte         // its document
	document teams.Document // and what that says
	known    bool           // it was read
}

// store is the directory, which is not read while its store has lost it.
func (k *kept) store() teams.Store {
	if k.deps.InForce == nil {
		return k.deps.Directory
	}
	return whole{k.deps.Directory, k.deps.InForce}
}

// whole is a directory that is not read while its store has lost it.
type whole struct {
	teams.Store
	inForce func() teams.State
}

var errLostStore = errors.New("the store has lost the directory in force, which is written back soon")

// Read implements [teams.Store].
func (w whole) Read(ctx context.Context) (teams.State, error) {
	known := w.inForce() // before the store, which has it or a later one then
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
	if err != nil {
		return teams.Document{}, unusable(err)
	}
	if !k.known || !bytes.Equal(s.Document, k.text) { // else only entries were added
		d, err := s.Open()
		if err != nil {
			return d, unusable(err)
		}
		k.text, k.document = s.Document, d
	}
	k.head, k.known = s.Head(), true
	return k.document, nil
}

// openUsed returns the directory, and when keys were last used. It asks for both at the same time.
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

// commit makes a change of the directory when it is its turn.
func (k *kept) commit(ctx context.Context, order teams.Order, decide teams.Decide) (d teams.Document, err error) {
	err = k.inTurn(ctx, func() (err error) {
		d, err = teams.Commit(ctx, k.store(), order, decide)
		return err
	})
	return d, err
}

// note writes an entry about a change elsewhere when it is its turn.
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

// unusable is the problem of a directory that cannot be read or written, for an error that is none yet.
func unusable(err error) error {
	if problem := (*teams.Problem)(nil); err == nil || errors.As(err, &problem) {
		return err
	}
	return teams.Away("the directory cannot be used at the moment", err)
}
