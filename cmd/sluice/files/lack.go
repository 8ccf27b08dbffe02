package files

import (
	"errors"
	"strings"
	"sync/atomic"

	"sluice/policy/account"
	"sluice/policy/teams"
)

// Lack is what teams of the directory need and the accounts at the service lack. The zero Lack is empty; it is safe for concurrent use.
type Lack struct{ text atomic.Pointer[string] }

// Note compares the accounts with all teams. It returns what to log; empty: nothing new. A lack for teams of the file is refused at the
// start instead.
func (l *Lack) Note(u Upstream, file *teams.File) string {
	misfits, _ := account.Fit(u.File, file)
	if len(misfits) == 0 {
		l.text.Store(nil)
		return ""
	}
	text := strings.ReplaceAll(misfits.Error(), "\n", "; ")
	if was := l.text.Swap(&text); was != nil && *was == text {
		return ""
	}
	return text
}

// State returns an error if something is lacking.
func (l *Lack) State() error {
	if text := l.text.Load(); text != nil {
		return errors.New(*text)
	}
	return nil
}
