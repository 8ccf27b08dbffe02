package pages

import (
	"context"
	"time"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry/recent"
)

// Deps are the sources of the pages. Every method gets the person: it MUST leave out what the person may not see, and answer
// foreign and unknown teams with the same [teams.Problem]. Errors of other types are reported as "cannot be read at the moment".
type Deps struct {
	Teams    Teams
	Raises   Raises
	Figures  Figures
	Config   func() Config            // the settings in effect, without secrets
	Modes    policy.Modes             // that the settings set
	Prefix   string                   // of the service's headers, for the rules
	Currency func() unit.Currency     // of the teams file
	File     func() *teams.File       // the teams in force
	Gateway  func(host string) string // the address for programs of a visitor who reached the console at a host; nil: not known
	TraceURL string                   // an address with {trace}; empty: no links to traces
	Provider string                   // of the service, for bills; empty: null
	Now      func() time.Time
	Settled  func(context.Context) // waits until this process has a change in force, so that the next page shows it; nil: nothing is waited for
	Crowded  func()                // called when [LiveBound] refuses a live part; nil: not called
}

// Teams are the teams, of the file and of the directory, with their keys and the audit: what [console.Registry] does.
type Teams interface {
	Page(ctx context.Context, p access.Person, after string, most int) (list []teams.Spec, more bool, err error)
	// Known returns the teams as this process has them in force, also while the directory cannot be read.
	Known(p access.Person) []teams.Spec
	Show(ctx context.Context, p access.Person, id string) (teams.Spec, error)
	Create(ctx context.Context, a access.Actor, team teams.Spec) (teams.Spec, error)
	// Replace MUST refuse with [teams.CodeLost] if the team's ETag is not in ifMatch.
	Replace(ctx context.Context, a access.Actor, team teams.Spec, ifMatch string) (teams.Spec, error)
	// Delete marks a team for removal, once it has no open work.
	Delete(ctx context.Context, a access.Actor, id, ifMatch string) (teams.Spec, error)
	Adjust(ctx context.Context, a access.Actor, id string, by console.Correction) (limit.Adjustment, error)
	// Mint makes a key. It MUST refuse with [teams.CodeLost] if the team's ETag is not in ifMatch: so a form makes one key, however often it is sent.
	Mint(ctx context.Context, a access.Actor, team, ifMatch string, order teams.KeyOrder) (teams.NewKey, error)
	// ChangeKey sets members of a key, as [teams.ChangeKey] does.
	ChangeKey(ctx context.Context, a access.Actor, team, key string, members []byte, ifMatch string) (teams.Spec, error)
	EndKey(ctx context.Context, a access.Actor, team, key string) error
	Cancel(ctx context.Context, a access.Actor, team, task string) error
	Audit(ctx context.Context, p access.Person, f console.AuditFilter, before int64) (list []teams.Entry, more bool, err error)
	// Prove verifies the audit. Faults are nil if the audit is intact.
	Prove(ctx context.Context, p access.Person) (entries int64, head string, faults []string, err error)
}

// Raises raise quotas for a while: what [console.Raises] does.
type Raises interface {
	Add(ctx context.Context, a access.Actor, team string, order teams.RaiseOrder) (teams.Raise, error)
	End(ctx context.Context, a access.Actor, team, raise string) error
}

// Figures read usage, spend, tasks, requests and faults, as package figures does.
type Figures interface {
	// Now returns the traffic of the last hour in minutes, or of the last day in steps of 15 minutes, and today's use.
	Now(ctx context.Context, p access.Person, day bool) (figures.Now, error)
	// Lines returns the state of each team that a person sees, by id.
	Lines(ctx context.Context, p access.Person) (map[string]figures.TeamUse, error)
	// Team returns one team's standing and its last 30 days.
	Team(ctx context.Context, p access.Person, id string) (figures.TeamFigures, error)
	// Key returns how a key of a team stands to its limits, and its month.
	Key(ctx context.Context, p access.Person, team, key string) (figures.KeyFigures, error)
	Money(ctx context.Context, p access.Person, q figures.MoneyQuery) (figures.Money, error)
	// Bill calls take with the rows of the ledger behind a query, in the order of reports.
	Bill(ctx context.Context, p access.Person, q figures.MoneyQuery, take func(rows []limit.Row) error) error
	TaskList(ctx context.Context, p access.Person, f figures.TaskFilter) (figures.TaskList, error)
	Task(ctx context.Context, p access.Person, team, id string) (figures.Task, error)
	RequestList(ctx context.Context, p access.Person, f recent.Filter) (recent.Page, error)
	Request(ctx context.Context, p access.Person, id string) (recent.Request, error)
	// Search finds requests, tasks, keys, teams, models and pages by an id or a name.
	Search(ctx context.Context, p access.Person, text string) ([]figures.Found, error)
	// Latency returns how long the service, Sluice and tasks took, for people who see all teams.
	Latency(ctx context.Context, p access.Person, q figures.LatencyQuery) ([]figures.LatencyRow, error)
	// FaultList returns what is wrong, also if nothing can be read.
	FaultList(ctx context.Context, p access.Person) []figures.Fault
	// Refused groups the refused requests that are kept, by reason, limit, rule or model.
	Refused(ctx context.Context, p access.Person, q figures.RefusedQuery) (figures.Refused, error)
	// Deliveries reports of hooks, and of the deliveries of an owner's events.
	Deliveries(ctx context.Context, p access.Person, q event.Query) (event.Report, error)
	// AccountList returns the accounts at the service and their use, for people who see all teams.
	AccountList(ctx context.Context, p access.Person) (figures.AccountList, error)
	// Rules returns how often requests broke rules in the last hour, or in the last 24 hours.
	Rules(ctx context.Context, p access.Person, day bool) (figures.Rules, error)
}

// Config is the effective settings.
type Config struct {
	Settings []Setting
	Warnings []string
	Version  string // of Sluice
}

// Setting is one setting. Secrets are already hidden.
type Setting struct {
	Name, Value string
	Set         bool // it is not the default
}
