package pages

import (
	"context"
	"encoding/json"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/directory"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

// Deps are the sources of the pages. Every method gets the person: an implementation MUST leave out what this person may not
// see, and answer a foreign team and an unknown one with the same [Problem] of status 404.
// Errors of other types are reported as "cannot be read at the moment".
type Deps struct {
	Teams    Teams
	Keys     Keys
	Figures  Figures
	House    House
	Cancel   func(ctx context.Context, a Actor, team, task string) error // asks the service to cancel a task
	Currency func() string                                               // of the teams file; it may answer ""
	TraceURL string                                                      // an address with {trace} in it; empty: traces are not linked
	Provider string                                                      // of the service, for bills; empty: null
	Now      func() time.Time
	Crowded  func() // called when [LiveBound] refuses a live part; nil: not called
}

// Teams are the teams, of the file and of the directory.
type Teams interface {
	// List returns the teams that the person sees, by id.
	List(ctx context.Context, p access.Person) ([]TeamLine, error)
	// Team returns one team.
	Team(ctx context.Context, p access.Person, id string) (Team, error)
	// Create adds a team to the directory.
	Create(ctx context.Context, a Actor, id string, fields Fields) error
	// Change replaces the fields of a team. It MUST refuse with status 412 if the team's version is no longer the one given.
	Change(ctx context.Context, a Actor, id, version string, fields Fields) error
	// Remove has a team removed that is disabled, once it has nothing open.
	Remove(ctx context.Context, a Actor, id, version string) error
	// Adjust corrects what a team used.
	Adjust(ctx context.Context, a Actor, id string, by Adjustment) error
}

// Actor is a person who changes something, for the audit.
type Actor struct {
	access.Person
	Address string // of the client; one line
	Reason  string // why, as the person gave it; may be empty
}

// Fields are a team's own members as the teams file has them, by name, without id and keys.
type Fields map[string]json.RawMessage

// Adjustment is a correction of a team's usage in the current day and month.
type Adjustment struct{ Unit, Delta string } // as typed; below 0 gives back

// Keys are the keys of the teams of the directory.
type Keys interface {
	Mint(ctx context.Context, a Actor, team string, k NewKey) (Minted, error)
	// Rotate makes a new key and ends the old one.
	Rotate(ctx context.Context, a Actor, team, old string, oldEnds time.Time) (Minted, error)
	Remove(ctx context.Context, a Actor, team, key string) error
}

// NewKey is a key that is asked for.
type NewKey struct {
	Note    string
	Expires time.Time // zero: as late as the team allows
}

// Minted is a key that was made. Secret is the whole key, which is shown once and MUST NOT be kept.
type Minted struct {
	ID, Secret string
	Expires    time.Time // zero: never
}

// Figures read traffic, usage, spend, tasks and faults.
type Figures interface {
	// Now returns the traffic of the last hour in minutes, or of the last day in steps of 15 minutes, and today's use.
	Now(ctx context.Context, p access.Person, day bool) (figures.Now, error)
	// Team returns one team's standing and its last 30 days.
	Team(ctx context.Context, p access.Person, id string) (figures.TeamFigures, error)
	Money(ctx context.Context, p access.Person, q figures.MoneyQuery) (figures.Money, error)
	// Bill calls take with the rows of the ledger behind a query, in the order of reports.
	Bill(ctx context.Context, p access.Person, q figures.MoneyQuery, take func(rows []limit.Row) error) error
	TaskList(ctx context.Context, p access.Person, f figures.TaskFilter) (figures.TaskList, error)
	Task(ctx context.Context, p access.Person, team, id string) (figures.Task, error)
	// RequestList returns a page of the newest requests of all replicas.
	RequestList(ctx context.Context, p access.Person, f recent.Filter) (recent.Page, error)
	Request(ctx context.Context, p access.Person, id string) (recent.Request, error)
}

// House concerns the gateway as a whole.
type House interface {
	// Rules returns the rules, and how often requests broke them in the last hour, or in the last 24 hours.
	Rules(ctx context.Context, p access.Person, day bool) (Rules, error)
	// Audit returns at most 100 entries, the newest first, before the entry numbered before; 0: from the newest on. more reports
	// whether there are older ones.
	Audit(ctx context.Context, p access.Person, team string, before int64) (list []directory.Entry, more bool, err error)
	// Proof verifies the audit. Faults are nil if there are none.
	Proof(ctx context.Context, p access.Person) (Proof, error)
	Config(ctx context.Context, p access.Person) (Config, error)
}

// TeamLine is a team as a row of the list.
type TeamLine struct {
	Team
	figures.TeamUse
}

// Team is one team as its page shows it.
type Team struct {
	ID, Description               string
	Owner                         teams.Owner
	Disabled, Shadow, SelfService bool
	Removing                      bool     // it is disabled, and removed once nothing of it is open
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

// Working is how many keys work at a moment.
func (t *Team) Working(at time.Time) (n int) {
	for i := range t.Keys {
		if k := &t.Keys[i]; !k.Disabled && (k.Expires.IsZero() || k.Expires.After(at)) {
			n++
		}
	}
	return n
}

// Rules are the table of rules, and how often requests broke them.
type Rules struct {
	Table   []Rule
	Counted bool      // the counts are known
	Since   time.Time // when they begin
	Refused int64     // requests that were refused for a rule, or for several
}

// Rule is a row of the table of rules.
type Rule struct {
	ID, When, Field, Allowed, From, Mode string
	Set                                  bool  // the mode is not the default one
	Warned, Refused                      int64 // how often a request broke it
}

// Proof is whether the audit is as it was written.
type Proof struct {
	Entries int
	Head    string   // SHA-256 of the last entry
	Faults  []string // nil: none
}

// Config is the effective settings.
type Config struct {
	Settings []Setting
	Warnings []string
	Version  string // of Sluice
}

// Setting is one setting. Secrets are hidden already.
type Setting struct {
	Name, Value string
	Set         bool // it is not the default
}
