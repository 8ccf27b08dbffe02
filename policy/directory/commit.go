package directory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLost is the error of a write whose state is no longer the store's: another change was faster.
var ErrLost = errors.New("the directory has changed meanwhile")

// Store keeps the directory and its audit.
type Store interface {
	// Head returns [State.Head] of what the store has. It MUST be cheap: every replica asks twice a second.
	Head(ctx context.Context) (string, error)
	// Read returns what the store has.
	Read(ctx context.Context) (State, error)
	// Write writes document and entry of next in one step, and removes entries older than [KeptDays]. It MUST fail with
	// [ErrLost], and change nothing, if the store's head is not that of was. After any other error the write may have
	// happened.
	Write(ctx context.Context, was, next State) error
	// Pause waits before a change that has lost so many races is tried again, the longer the more it has lost; not for 0. It ends
	// with the context's error, if the context ends.
	Pause(ctx context.Context, lost int) error
	// Entries calls visit with the text of each entry, the oldest first. It ends with visit's error, if there is one.
	Entries(ctx context.Context, visit func(text []byte) error) error
	// Written returns how many bytes the entries of a team have that were written on the day of at, in UTC.
	Written(ctx context.Context, team string, at time.Time) (int64, error)
	// Report keeps what a process says in place of what it said before, and returns what all processes say. It MUST leave out those
	// that have left, and those that were silent for longer than [ReportKept].
	Report(ctx context.Context, own Report) ([]Report, error)
	// Used returns when keys were last used, in whole hours, by their ids.
	Used(ctx context.Context) (map[string]time.Time, error)
	// NoteUsed notes when keys were last used. It MUST NOT replace a later hour by an earlier one. The zero time forgets a
	// key.
	NoteUsed(ctx context.Context, hours map[string]time.Time) error
}

// commitTries is how many races a change may lose.
const commitTries = 10

// Commit makes a change of what the store has and writes it with its entry. If another change was faster, decide is asked
// again: it judges the document that is changed, for example by a version that its caller knows. A change that makes no
// difference is not written.
func Commit(ctx context.Context, store Store, order Order, decide func(Document) (Change, error)) (d Document, err error) {
	err = commit(ctx, store, order, func(was State) (next State, err error) {
		next, d, err = step(was, order, decide)
		return next, err
	})
	return d, err
}

// Note writes an entry about a change elsewhere, such as a correction of a team's usage. The directory stays as it is. Write
// the entry before the change, so that there is no change without one.
func Note(ctx context.Context, store Store, order Order, entry Entry) error {
	return commit(ctx, store, order, func(was State) (State, error) {
		if err := was.Check(); err != nil {
			return was, err
		}
		return was.Next(nil, entry, order)
	})
}

// commit writes the state that follows what the store has, until no other change is faster.
func commit(ctx context.Context, store Store, order Order, follow func(State) (State, error)) error {
	for try := range commitTries {
		if err := store.Pause(ctx, try); err != nil {
			return err
		}
		was, err := store.Read(ctx)
		if err != nil {
			return fmt.Errorf("read the directory: %w", err)
		}
		next, err := follow(was)
		if err != nil || next.Head() == was.Head() {
			return err
		}
		if err := order.room(ctx, store, next); err != nil {
			return err
		}
		err = store.Write(ctx, was, next)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrLost):
		case wrote(ctx, store, next): // the reply was lost
			return nil
		default:
			return fmt.Errorf("write the directory: %w", err)
		}
	}
	return &Error{Conflict, "", fmt.Sprintf("%d other changes were faster", commitTries), "try again"}
}

// step is the state after the change of an order; the same state if the change makes no difference.
func step(was State, order Order, decide func(Document) (Change, error)) (State, Document, error) {
	before, err := was.Open()
	if err != nil {
		return was, before, err
	}
	change, err := decide(before)
	if err != nil {
		return was, before, err
	}
	after, entry, err := Apply(before, change)
	if err != nil || after.Version == before.Version {
		return was, before, err
	}
	next, err := was.next(after.Text(), after.Version, entry, order)
	if err == nil {
		latest.Store(&opened{digestOf(next.Document), after})
	}
	return next, after, err
}

// room refuses an entry beyond the order's part of the audit.
func (o Order) room(ctx context.Context, store Store, next State) error {
	if o.Most == 0 {
		return nil
	}
	team := next.last().Team
	written, err := store.Written(ctx, team, o.Now)
	if err != nil {
		return fmt.Errorf("read the size of the audit: %w", err)
	}
	if written+int64(len(next.Last)) > o.Most {
		text := fmt.Sprintf("the audit of team %s has %d bytes of this day, allowed: %d", team, written, o.Most)
		return &Error{Full, "", text, "wait until the day ends in UTC"}
	}
	return nil
}

func wrote(ctx context.Context, store Store, next State) bool {
	head, err := store.Head(ctx)
	return err == nil && head == next.Head()
}

// Lost reports whether a store that has one state has lost what follows: it has an older document than known, or the same
// with an older end of its trail.
func Lost(has, known State) bool {
	if known.Last == nil {
		return false
	}
	is, was := has.last(), known.last()
	if bytes.Equal(has.Document, known.Document) {
		return is.Seq < was.Seq
	}
	return is.Version < was.Version
}

// Before reports whether a state is one that another followed, by their last entries.
func (s State) Before(other State) bool {
	is, was := s.last(), other.last()
	return cmp.Or(cmp.Compare(is.Version, was.Version), cmp.Compare(is.Seq, was.Seq)) < 0
}

// last is the last entry; the zero Entry: there is none, or it cannot be read.
func (s State) last() Entry {
	if s.Last == nil {
		return Entry{}
	}
	last, err := ReadEntry(s.Last)
	if err != nil {
		return Entry{}
	}
	return last
}

// Restored is the state of a store that has lost what known has, or has an older copy of it: known's document, with an
// entry that says so. The numbers of the entries go on, so that lost ones can be seen.
func Restored(has, known State, order Order) (State, error) {
	if has.Last == nil {
		return known.Next(nil, Entry{What: "directory.restore"}, order)
	}
	last, err := ReadEntry(known.Last)
	if err != nil {
		return has, err
	}
	next, err := has.Next(known.Document, Entry{What: "directory.restore"}, order)
	if err != nil {
		return has, err
	}
	entry, err := ReadEntry(next.Last)
	if err != nil {
		return has, err
	}
	entry.Seq, entry.Version = max(entry.Seq, last.Seq+1), last.Version
	next.Last = entry.Text()
	return next, nil
}
