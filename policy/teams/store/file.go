package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sync"
	"time"

	"sluice/policy/teams"
)

// File keeps the directory in a file of one machine, and beside it the audit (.audit), when keys were last used (.used), a lock
// (.lock), and the reports of its processes (.replicas). Several processes of the machine may use it. It is safe for concurrent
// use.
//
// The file itself contains the last entry, so that one rename writes document and entry; the audit's file follows.
type File struct {
	path string
	now  func() time.Time

	mu   sync.Mutex
	text []byte // as it was last read
	head string // its head
}

// NewFile returns the store at a path. The file may be missing until the first change.
func NewFile(path string, now func() time.Time) *File { return &File{path: path, now: now} }

func (f *File) audit() string { return f.path + ".audit" }

// Head implements [teams.Store].
func (f *File) Head(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", pathless(err)
	case f.head != "" && bytes.Equal(text, f.text):
		return f.head, nil
	}
	s, err := decode(text)
	if err != nil {
		return "", err
	}
	f.text, f.head = text, s.Head()
	return f.head, nil
}

// Read implements [teams.Store].
func (f *File) Read(context.Context) (teams.State, error) { return Load(f.path) }

// Write implements [teams.Store].
func (f *File) Write(_ context.Context, was, next teams.State) error {
	return f.locked(func() error {
		is, err := Load(f.path)
		if err != nil {
			return err
		}
		if is.Head() != was.Head() {
			return teams.ErrLost
		}
		lines, err := f.lines(is)
		if err != nil {
			return err
		}
		lines, next.First = f.young(lines, max(is.First, next.First))
		if err := Save(f.path, next); err != nil {
			return err
		}
		return replace(f.audit(), append(bytes.Join(append(lines, next.Last), []byte("\n")), '\n'))
	})
}

// lines are the texts of all entries of a state. After a crash the audit's file may still have entries that are too
// old, and may lack the last entry or the end of its line.
func (f *File) lines(s teams.State) ([][]byte, error) {
	text, err := os.ReadFile(f.audit())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, pathless(err)
	}
	var lines [][]byte
	for line := range bytes.Lines(text) {
		whole, ok := bytes.CutSuffix(line, []byte("\n"))
		if e, err := teams.ReadEntry(whole); ok && (err != nil || e.Seq >= s.First) {
			lines = append(lines, whole)
		}
	}
	if s.Last != nil && (len(lines) == 0 || !bytes.Equal(lines[len(lines)-1], s.Last)) {
		lines = append(lines, s.Last)
	}
	return lines, nil
}

// young drops entries that are too old, and returns the number of the first that stays: first, if nothing is dropped,
// so that an entry that is missing at the beginning is noticed until it would be too old itself.
func (f *File) young(lines [][]byte, first int64) ([][]byte, int64) {
	since := f.now().AddDate(0, 0, -teams.KeptDays)
	for len(lines) > 0 {
		e, err := teams.ReadEntry(lines[0])
		if err != nil || !e.Time.Before(since) {
			break
		}
		lines, first = lines[1:], e.Seq+1
	}
	return lines, first
}

// Entries implements [teams.Store].
func (f *File) Entries(_ context.Context, backwards bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines, err := f.all()
		if backwards {
			slices.Reverse(lines)
		}
		for _, line := range lines {
			if !yield(line, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Written implements [teams.Store].
func (f *File) Written(ctx context.Context, team string, at time.Time) (written int64, _ error) {
	day := at.UTC().Truncate(24 * time.Hour)
	for text, err := range f.Entries(ctx, true) {
		if err != nil {
			return written, err
		}
		e, bad := teams.ReadEntry(text)
		switch {
		case bad != nil:
		case e.Time.Before(day):
			return written, nil
		case e.Team == team:
			written += int64(len(text))
		}
	}
	return written, nil
}

// all are the texts of all entries, the oldest first.
func (f *File) all() (lines [][]byte, err error) {
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = f.locked(func() error {
		s, err := Load(f.path)
		if err != nil {
			return err
		}
		lines, err = f.lines(s)
		return err
	})
	return lines, err
}

// Used implements [teams.Store].
func (f *File) Used(context.Context) (map[string]time.Time, error) {
	return readMap[time.Time](f.path + ".used")
}

// readMap reads an object from a file beside the directory; a missing file counts as an empty object.
func readMap[V any](path string) (map[string]V, error) {
	all := map[string]V{}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return all, nil
	case err != nil:
		return nil, pathless(err)
	}
	return all, json.Unmarshal(text, &all)
}

func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return replace(path, text)
}

// NoteUsed implements [teams.Store].
func (f *File) NoteUsed(ctx context.Context, hours map[string]time.Time) error {
	if len(hours) == 0 {
		return nil
	}
	return f.locked(func() error {
		used, err := f.Used(ctx)
		if err != nil {
			used = map[string]time.Time{} // the new hours matter more than the old ones
		}
		for key, at := range hours {
			at = at.UTC().Truncate(time.Hour)
			switch {
			case at.IsZero():
				delete(used, key)
			case at.After(used[key]):
				used[key] = at
			}
		}
		return writeJSON(f.path+".used", used)
	})
}

// locked calls do while no other process of the machine does the same.
func (f *File) locked(do func() error) error {
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return pathless(err)
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := lockFile(lock); err != nil {
		return err
	}
	return do()
}
