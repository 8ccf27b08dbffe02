package store

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"sluice/policy/strictyaml"
	"sluice/policy/teams"
)

// Live are the teams in force: those of the teams file, those of the directory, and the raises of both. Each may be
// replaced at any time, while the last good content of the others stays in force. Raises end by themselves. It is safe
// for concurrent use.
type Live struct {
	now      func() time.Time
	mu       sync.Mutex
	apply    func(*teams.File)
	file     *teams.File
	upstream []teams.Digest
	state    teams.State    // of the directory in force; the zero State: none was ever read
	document teams.Document // of that state
	ignored  error          // parts of the directory that are not in force, because the file has them, too
	joined   *teams.File    // file and directory, without raises
	raises   []teams.Raise
	ends     *time.Timer // of the next raise; nil: none is in force
}

// NewLive returns the teams of a file, without a directory. It does not call apply, which later receives the teams to
// put in force. upstream are the digests of the service's own keys, which no team may have.
func NewLive(file *teams.File, upstream []teams.Digest, now func() time.Time, apply func(*teams.File)) *Live {
	return &Live{now: now, file: file, joined: file, upstream: upstream, apply: apply}
}

// SetFile puts a new teams file in force, with new keys of the service and a new apply.
func (l *Live) SetFile(file *teams.File, upstream []teams.Digest, apply func(*teams.File)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file, l.upstream, l.apply = file, upstream, apply
	if l.join(l.state) != nil { // it was read before, so it does not happen
		l.joined = file
	}
	l.raise()
}

// SetDirectory puts a new directory in force, with its raises. A faulty one changes nothing. If document and raises
// are unchanged, as after an entry about a change elsewhere, the teams stay as they are.
func (l *Live) SetDirectory(s teams.State) error {
	if err := s.Check(); err != nil {
		return err
	}
	raises, err := teams.ReadRaises(s.Raises)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	same, known := l.state.Last != nil && bytes.Equal(s.Document, l.state.Document), bytes.Equal(s.Raises, l.state.Raises)
	if !same {
		d, err := s.Open()
		if err != nil {
			return err
		}
		if err := l.join(s); err != nil {
			return err
		}
		l.document = d
	}
	if l.state, l.raises = s, raises; !same || !known {
		l.raise()
	}
	return nil
}

// join joins the file with the directory of a state.
func (l *Live) join(s teams.State) error {
	joined := l.file
	var ignored strictyaml.Faults
	if s.Document != nil {
		var err error
		joined, ignored, err = l.file.Join(s.Document, l.upstream...)
		if err != nil {
			return err
		}
	}
	l.joined, l.ignored = joined, nil
	if len(ignored) > 0 {
		l.ignored = fmt.Errorf("not all of it is in force: %s", strings.ReplaceAll(ignored.Error(), "\n", "; "))
	}
	return nil
}

// raise applies the teams with the raises that are in force now, and again when the first of them ends.
func (l *Live) raise() {
	if l.ends != nil {
		l.ends.Stop()
		l.ends = nil
	}
	now := l.now()
	raised, next := l.joined.Raised(l.raises, now)
	if l.apply(raised); next.IsZero() {
		return
	}
	l.ends = time.AfterFunc(next.Sub(now), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.raise()
	})
}

// InForce is the directory in force, and what is ignored in it.
func (l *Live) InForce() (s teams.State, d teams.Document, ignored error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.document, l.ignored
}

// InForce returns the teams of a file together with the directory and the raises that a store has at a moment. What
// cannot be read is left out.
func InForce(ctx context.Context, s teams.Store, file *teams.File, now time.Time) *teams.File {
	state, err := s.Read(ctx)
	if err != nil {
		return file
	}
	if state.Document != nil {
		if joined, _, err := file.Join(state.Document); err == nil {
			file = joined
		}
	}
	raises, _ := teams.ReadRaises(state.Raises)
	file, _ = file.Raised(raises, now)
	return file
}
