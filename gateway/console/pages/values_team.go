package pages

import (
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// TeamLine is a team as a row of the list.
type TeamLine struct {
	ID, Description  string
	Owner            teams.Owner
	Disabled, Shadow bool
	Keys             int // that work
	Today            Use
	Refused          int64           // requests refused today
	Tightest         *limit.Standing // the limit of which the smallest part is left; nil: no limit
}

// Team is one team as its page shows it.
type Team struct {
	ID, Description               string
	Owner                         teams.Owner
	Disabled, Shadow, SelfService bool
	Models, Endpoints             []string // nil: all
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

// TeamFigures are how a team stands.
type TeamFigures struct {
	Report     limit.Report // the limits in force, and the open tasks
	Effective  []int        // indices of the limits in Report that hold first: of those of one unit, the one with the least left
	Concurrent Count
	OpenTasks  Count
	Days       []DayUse // the last 30, the oldest first; a day without use is there too
	Refusals   []Refusal
	Tasks      []TaskLine // open ones, the newest first, at most 20
}

// Count is how many are under way; a Limit of 0 is any number.
type Count struct{ Used, Limit int64 }

// DayUse is the use of one day in UTC.
type DayUse struct {
	Day string // 2026-11-21
	Use
}

// Refusal is how often requests were refused for one reason today.
type Refusal struct {
	Name  string // as in Sluice-Refusal: admit/quota
	Count int64
}
