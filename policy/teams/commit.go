package teams

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// commitTries is how many races a change may lose before it fails.
const commitTries = 10

// Decide returns the change to make to a document, after judging it, for example by a version that its caller knows.
type Decide func(Document) (Change, error)

// Commit changes what the store has and writes it with its entry. If another change was faster, decide is called again. A change
// that makes no difference is not written.
func Commit(ctx context.Context, store Store, order Order, decide Decide) (d Document, err error) {
	err = commit(ctx, store, order, func(was State) (next State, err error) {
		next, d, err = step(was, order, decide)
		return next, err
	})
	return d, err
}

// Note writes an entry about a change elsewhere, such as a correction of a team's usage. The directory stays as it is.
// Call it before that change, so that there is no change without an entry.
func Note(ctx context.Context, store Store, order Order, entry Entry) error {
	return commit(ctx, store, order, func(was State) (State, error) {
		if err := was.Check(); err != nil {
			return was, err
		}
		return was.Next(nil, entry, order)
	})
}

// commit writes the state that follows the store's, and tries again if another change was faster.
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
	return &Problem{Code: CodeConflict, Text: fmt.Sprintf("%d other changes were faster", commitTries), Advice: "try again"}
}

// step is the state after the change of an order; the same state if the change makes no difference.
func step(was State, order Order, decide Decide) (State, Document, error) {
	before, err := was.Open()
	if err != nil {
		return was, before, err
	}
	before.Money = order.Money
	change, err := decide(before)
	if err != nil {
		return was, before, err
	}
	after, entry, err := Apply(before, change)
	if err != nil || after.Version == before.Version {
		return was, before, err
	}
	next, err := was.withoutTeams(before, after, &entry).next(after.Text(), after.Version, entry, order)
	if err == nil {
		latest.Store(&opened{hexOf(next.Document), after})
	}
	return next, after, err
}

// room refuses an entry that exceeds the order's part of the audit.
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
		ends := o.Now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
		return &Problem{
			Code: CodeFull, Text: "the entries of the team in the audit have the size that its members may fill in a day", Wait: ends.Sub(o.Now),
			Given: fmt.Sprintf("%d bytes of this day", written), Allowed: fmt.Sprintf("%d bytes a day, in UTC", o.Most),
			Advice: "wait until " + ends.Format(time.RFC3339) + ", or ask an operator",
		}
	}
	return nil
}

func wrote(ctx context.Context, store Store, next State) bool {
	head, err := store.Head(ctx)
	return err == nil && head == next.Head()
}
