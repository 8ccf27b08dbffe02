package pages

import (
	"time"

	"sluice/gateway/console/figures"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// TeamLine is a team as a row of the list.
type TeamLine struct {
	ID, Description  string
	Owner            teams.Owner
	Disabled, Shadow bool
	Removing         bool // it is disabled, and removed once nothing of it is open
	Keys             int  // that work
	Today            figures.Use
	Refused          int64           // requests refused today
	Tightest         *limit.Standing // the limit of which the smallest part is left; nil: no limit
}

// Team is one team as its page shows it.
type Team struct {
	ID, Description               string
	Owner                         teams.Owner
	Disabled, Shadow, SelfService bool
	Removing                      bool     // as in TeamLine
	Models                        []string // nil: all
	Endpoints                     []string // nil: all but other
	Members                       []string // groups and e-mails
	Keys                          []Key
	Version                       string // of the team, for a change; empty: the file owns it
	Fields                        Fields // what the directory has, without the defaults
}

// Key is one key of a team. The key itself is nowhere.
type Key struct {
	ID, Note          string
	Owner             teams.Owner
	Disabled          bool
	Expires, LastUsed time.Time // zero: never
}
