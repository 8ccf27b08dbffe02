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
	// Pause waits before a change that has lost that many races is tried again, longer after each race; 0: not at all. It returns the
	// context's error if the context ends.
	Pause(ctx context.Context, lost int) error
	// Entries yields the texts of all entries, the oldest first, or backwards, the newest first. An error is the last element.
	Entries(ctx context.Context, backwards bool) iter.Seq2[[]byte, error]
	// Written returns how many bytes of entries about a team were written on the day of at, in UTC.
	Written(ctx context.Context, team string, at time.Time) (int64, error)
	// Report keeps a process's report in place of its last one, and returns the reports of all processes. It MUST leave out
	// processes that have left, and those that were silent for longer than [ReportKept].
	Report(ctx context.Context, own Report) ([]Report, error)
	// Used returns when keys were last used, in whole hours, by their ids.
	Used(ctx context.Context) (map[string]time.Time, error)
	// NoteUsed notes when keys were last used. It MUST NOT replace a later hour by an earlier one. The zero time forgets a
	// key.
	NoteUsed(ctx context.Context, hours map[string]time.Time) error
}

// Report is what a process that follows the directory reports about itself.
type Report struct {
	Replica string   `json:"replica"`           // the process's name
	Version int64    `json:"version"`           // of the directory in force there
	Through []string `json:"through,omitempty"` // the teams marked for removal with nothing open there, since that version at the latest
	Left    bool     `json:"-"`                 // the process stops
}

// ReportKept is how long a silent process counts.
const ReportKept = 10 * time.Minute

// Removable reports whether a team that is marked for removal in a version of the directory can be removed: every process has
// that version in force, or a later one, and has nothing of the team open.
func Removable(reports []Report, version int64, team string) bool {
	waits := func(r Report) bool { return r.Version < version || !slices.Contains(r.Through, team) }
	return len(reports) > 0 && !slices.ContainsFunc(reports, waits)
}
