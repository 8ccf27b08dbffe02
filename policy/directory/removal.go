package directory

import (
	"slices"
	"time"
)

// Report is what a process that follows the directory says of itself.
type Report struct {
	Replica string   `json:"replica"`           // the process's name
	Version int64    `json:"version"`           // of the directory in force there
	Through []string `json:"through,omitempty"` // the teams to remove of which nothing is open there, since that version at the latest
	Left    bool     `json:"-"`                 // it stops
}

// ReportKept is how long a process counts that is silent.
const ReportKept = 10 * time.Minute

// Removing are the ids of the teams that are to be removed.
func (d Document) Removing() (ids []string) {
	for _, team := range d.Teams {
		if team.removing() {
			ids = append(ids, team.ID)
		}
	}
	return ids
}

// Removable reports whether a team that is to be removed in a version of the directory can go: every process has that version in force,
// or a later one, and is through with the team.
func Removable(reports []Report, version int64, team string) bool {
	waits := func(r Report) bool { return r.Version < version || !slices.Contains(r.Through, team) }
	return len(reports) > 0 && !slices.ContainsFunc(reports, waits)
}
