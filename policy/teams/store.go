package teams

import (
	"context"
	"errors"
	"iter"
	"slices"
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
	// Entries are the texts of all entries, the oldest first, or backwards, the newest first. An error is the last element.
	Entries(ctx context.Context, backwards bool) iter.Seq2[[]byte, error]
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

// Report is what a process that follows the directory says of itself.
type Report struct {
	Replica string   `json:"replica"`           // the process's name
	Version int64    `json:"version"`           // of the directory in force there
	Through []string `json:"through,omitempty"` // the teams to remove of which nothing is open there, since that version at the latest
	Left    bool     `json:"-"`                 // it stops
}

// ReportKept is how long a process counts that is silent.
const ReportKept = 10 * time.Minute

// Removable reports whether a team that is to be removed in a version of the directory can go: every process has that version in force,
// or a later one, and is through with the team.
func Removable(reports []Report, version int64, team string) bool {
	waits := func(r Report) bool { return r.Version < version || !slices.Contains(r.Through, team) }
	return len(reports) > 0 && !slices.ContainsFunc(reports, waits)
}
