package store

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"sluice/policy/teams"
)

// Live are the teams in force: those of the teams file and those of the directory. Each of the two may be replaced at any time; the
// other's last good content stays. It is safe for concurrent use.
type Live struct {
	mu       sync.Mutex
	apply    func(*teams.File)
	file     *teams.File
	upstream teams.Digest
	state    teams.State    // of the directory in force; the zero State: none was ever read
	document teams.Document // of that state
	ignored  error          // parts of the directory that are not in force, because the file has them too
}

// NewLive returns the teams of a file, without a directory. It does not call apply, which later gets the teams to put in force;
// upstream is the digest of the service's own key, which no team may have.
func NewLive(file *teams.File, upstream teams.Digest, apply func(*teams.File)) *Live {
	return &Live{file: file, upstream: upstream, apply: apply}
}

// SetFile puts a new teams file in force, with a new key of the service and a new apply.
func (l *Live) SetFile(file *teams.File, upstream teams.Digest, apply func(*teams.File)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file, l.upstream, l.apply = file, upstream, apply
	if l.join(l.state) != nil { // it was read before, so it does not happen
		l.apply(file)
	}
}

// SetDirectory puts a new directory in force. A faulty one changes nothing. With the same document, after an entry about a change
// elsewhere, the teams stay as they are.
func (l *Live) SetDirectory(s teams.State) error {
	if err := s.Check(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Last != nil && bytes.Equal(s.Document, l.state.Document) {
		l.state = s
		return nil
	}
	d, err := s.Open()
	if err != nil {
		return err
	}
	if err := l.join(s); err != nil {
		return err
	}
	l.state, l.document = s, d
	return nil
}

// join applies the file with the directory of a state.
func (l *Live) join(s teams.State) error {
	joined := l.file
	var ignored teams.Faults
	if s.Document != nil {
		var err error
		joined, ignored, err = l.file.Join(s.Document, l.upstream)
		if err != nil {
			return err
		}
	}
	l.ignored = nil
	if len(ignored) > 0 {
		l.ignored = fmt.Errorf("not all of it is in force: %s", strings.ReplaceAll(ignored.Error(), "\n", "; "))
	}
	l.apply(joined)
	return nil
}

// InForce is the directory in force, and what is ignored in it.
func (l *Live) InForce() (s teams.State, d teams.Document, ignored error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.document, l.ignored
}
