package registry

import (
	"context"
	"encoding/json"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/directory"
)

// NoteEnded writes that somebody has ended the session of another person. The entry has whose it was, and nothing that the session
// could be found by.
func (r *Registry) NoteEnded(ctx context.Context, a Actor, s *access.Session) error {
	before, err := json.Marshal(struct {
		Who     string    `json:"who"`
		Role    string    `json:"role"`
		Teams   []string  `json:"teams,omitempty"`
		Address string    `json:"address"`
		Began   time.Time `json:"began"`
	}{s.Person.Name, s.Person.Role.String(), s.Person.Teams, s.Client, s.Began.UTC()})
	if err != nil {
		return err
	}
	return r.note(ctx, r.order(a), directory.Entry{What: "session.end", Before: before})
}
