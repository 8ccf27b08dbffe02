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
	// Entries calls visit with the text of each entry, the oldest first. It ends with visit's error, if there is one.
	Entries(ctx context.Context, visit func(text []byte) error) error
	// Used returns when keys were last used, in whole hours, by their ids.
	Used(ctx context.Context) (map[string]time.Time, error)
	// NoteUsed notes when keys were last used. It MUST NOT replace a later hour by an earlier one. The zero time forgets a
	// key.
	NoteUsed(ctx context.Context, hours map[string]time.Time) error
}

// commitTries is how many lost races a change may lose.
const commitTries = 10

// Commit makes a change of what the store has and writes it with its entry. If another change was faster, decide is asked
// again: it judges the document that is changed, for example by a version that its caller knows. A change that makes no
// difference is not written.
func Commit(ctx context.Context, store Store, order Order, decide func(Document) (Change, error)) (d Document, err error) {
	err = commit(ctx, store, func(was State) (next State, err error) {
		next, d, err = step(was, order, decide)
		return next, err
	})
	return d, err
}

// Note writes an entry about a change elsewhere, such as a correction of a team's usage. The directory stays as it is. Write
// the entry before the change, so that there is no change without one.
func Note(ctx context.Context, store Store, order Order, entry Entry) error {
	return commit(ctx, store, func(was State) (State, error) {
		if _, err := was.Open(); err != nil {
			return was, err
		}
		return was.Next(nil, entry, order)
	})
}

// commit writes the state that follows what the store has, until no other change is faster.
func commit(ctx context.Context, store Store, follow func(State) (State, error)) error {
	for range commitTries {
		was, err := store.Read(ctx)
		if err != nil {
			return fmt.Errorf("read the directory: %w", err)
		}
		next, err := follow(was)
		if err != nil || next.Head() == was.Head() {
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
	next, err := was.next(after.Text(), after.Version, entry, order) // Apply has read it
	if err == nil {
		latest.Store(&opened{digestOf(next.Document), after})
	}
	return next, after, err
}

func wrote(ctx context.Context, store Store, next State) bool {
	head, err := store.Head(ctx)
	return err == nil && head == next.Head()
}

// Lost reports whether a store that has one state has lost what follows: it has an older document than known, or the same
// with an older end of its trail.
func Lost(has, known State) bool {
	document, err := known.Open()
	if err != nil || known.Last == nil {
		return false
	}
	if bytes.Equal(has.Document, known.Document) {
		return has.seq() < known.seq()
	}
	older, err := has.Open()
	return err == nil && older.Version < document.Version
}

// Before reports whether a state is one that another followed, by their last entries.
func (s State) Before(other State) bool {
	if other.Last == nil {
		return false
	}
	var mine, theirs Entry // one that cannot be read has number 0
	if s.Last != nil {
		mine, _ = ReadEntry(s.Last)
	}
	theirs, _ = ReadEntry(other.Last)
	return cmp.Or(cmp.Compare(mine.Version, theirs.Version), cmp.Compare(mine.Seq, theirs.Seq)) < 0
}

// seq is the number of the last entry; 0: there is none, or it cannot be read.
func (s State) seq() int64 {
	if s.Last == nil {
		return 0
	}
	last, err := ReadEntry(s.Last)
	if err != nil {
		return 0
	}
	return last.Seq
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
