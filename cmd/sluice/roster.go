package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"sluice/gateway"
	"sluice/policy/teams"
)

// roster joins the teams of the teams file and those of the directory, and puts the result in force. Each of the two may be
// replaced at any time; the other's last good content stays.
type roster struct {
	apply func(*teams.File, gateway.Secret)

	mu       sync.Mutex
	file     *teams.File
	key      gateway.Secret
	state    teams.State // of the directory in force; the zero State: none was ever read
	version  int64
	teams    int      // of the directory
	removing []string // those of them that are to be removed
	ignored  error    // what of the directory is not in force, because the file has it too
}

func newRoster(file *teams.File, key gateway.Secret, apply func(*teams.File, gateway.Secret)) *roster {
	return &roster{file: file, key: key, apply: apply}
}

// setFile puts a new teams file and a new upstream key in force.
func (r *roster) setFile(file *teams.File, key gateway.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file, r.key = file, key
	if r.join(r.state) != nil { // it was read before, so it does not happen
		r.apply(file, key)
	}
}

// setDirectory puts a new directory in force. A faulty one changes nothing. With the same document, after an entry about a change
// elsewhere, the teams stay as they are.
func (r *roster) setDirectory(s teams.State) error {
	if err := s.Check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Last != nil && bytes.Equal(s.Document, r.state.Document) {
		r.state = s
		return nil
	}
	d, err := s.Open()
	if err != nil {
		return err
	}
	if err := r.join(s); err != nil {
		return err
	}
	r.state, r.version, r.teams, r.removing = s, d.Version, len(d.Teams), d.Removing()
	return nil
}

// join applies the file with the directory of a state.
func (r *roster) join(s teams.State) error {
	joined := r.file
	var ignored teams.Faults
	if s.Document != nil {
		var err error
		joined, ignored, err = r.file.Join(s.Document, sha256.Sum256([]byte(r.key.Reveal())))
		if err != nil {
			return err
		}
	}
	r.ignored = nil
	if len(ignored) > 0 {
		r.ignored = fmt.Errorf("not all of it is in force: %w", oneLine(ignored))
	}
	r.apply(joined, r.key)
	return nil
}

// oneLine joins faults for the log and for readiness.
func oneLine(all teams.Faults) error {
	text := ""
	for i, f := range all {
		if i > 0 {
			text += "; "
		}
		text += f.String()
	}
	return errors.New(text)
}

// count is how many teams the directory in force has.
func (r *roster) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.teams
}

// toRemove are the teams that are to be removed, by the version in force.
func (r *roster) toRemove() (ids []string, version int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.removing, r.version
}

// inForce is the directory in force, and what of it is ignored.
func (r *roster) inForce() (s teams.State, version int64, ignored error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.version, r.ignored
}
