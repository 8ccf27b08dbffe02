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

// Deps are the sources of the pages. Every method gets the person. It MUST leave out what the person may not see, and return the same
// [teams.Problem] for another's team and an unknown one. Other errors are shown as "cannot be read at the moment".
type Deps struct {
	Teams    Teams
	Raises   Raises
	Figures  Figures
	Config   func() Config            // the settings in effect, without secrets
	Modes    policy.Modes             // set by the settings
	Prefix   string                   // of the service's headers, for the rules
	Currency func() unit.Currency     // of the teams file
	File     func() *teams.File       // the teams in force
	Gateway  func(host string) string // the gateway's address, for a browser that reached the console at host; nil: not known
	TraceURL string                   // an address with {trace}; empty: no links to traces
	Provider string                   // of the service, for bills; empty: null
	Now      func() time.Time
	Settled  func(context.Context) // waits until a change is in force in this process, so that the next page shows it; nil: no wait
	Crowded  func()                // called when [LiveBound] refuses a live part; nil: not called
}

// Teams are the teams of the file and the directory, with their keys and the audit. [console.Registry] implements it.
type Teams interface {
	Page(ctx context.Context, p access.Person, after string, most int) (list []teams.Spec, more bool, err error)
	// Known MUST return the teams in force in this process, also while the directory cannot be read.
	Known(p access.Person) []teams.Spec
	Show(ctx context.Context, p access.Person, id string) (teams.Spec, error)
	Create(ctx context.Context, a access.Actor, team teams.Spec) (teams.Spec, error)
	// Replace MUST refuse with [teams.CodeLost] if the team's ETag is not in ifMatch.
	Replace(ctx context.Context, a access.Actor, team teams.Spec, ifMatch string) (teams.Spec, error)
	// Delete MUST mark a team for removal once it has no open work.
	Delete(ctx context.Context, a access.Actor, id, ifMatch string) (teams.Spec, error)
	// Adjust MUST correct once for what one form orders, and return [console.ErrAgain] the next time.
	Adjust(ctx context.Context, a access.Actor, id string, by console.Correction) (limit.Adjustment, error)
	// Mint makes a key. It MUST refuse with [teams.CodeLost] if the team's ETag is not in ifMatch, so that a form sent twice makes one key.
	Mint(ctx context.Context, a access.Actor, team, ifMatch string, order teams.KeyOrder) (teams.NewKey, error)
	// ChangeKey MUST set members of a key like [teams.ChangeKey].
	ChangeKey(ctx context.Context, a access.Actor, team, key string, members []byte, ifMatch string) (teams.Spec, error)
	EndKey(ctx context.Context, a access.Actor, team, key string) error
	Cancel(ctx context.Context, a access.Actor, team, task string) error
	Audit(ctx context.Context, p access.Person, f console.AuditFilter, before int64) (list []teams.Entry, more bool, err error)
	// Prove MUST verify the audit. Faults are nil if it is intact.
	Prove(ctx context.Context, p access.Person) (entries int64, head string, faults []string, err error)
}

// Raises raise quotas for a while. [console.Raises] implements it.
type Raises interface {
	// List MUST return the raises in force, also those that this process has not applied yet.
	List(ctx context.Context, p access.Person, team string) ([]teams.Raise, error)
	// Add MUST raise once for what one form orders, and return [console.ErrAgain] the next time.
	Add(ctx context.Context, a access.Actor, team string, order teams.RaiseOrder) (teams.Raise, error)
	End(ctx context.Context, a access.Actor, team, raise string) error
}

// Figures read usage, spend, tasks, requests and faults. [figures.Figures] implements and documents it.
type Figures interface {
	Now(ctx context.Context, p access.Person, day bool) (figures.Now, error)
	Lines(ctx context.Context, p access.Person) (map[string]figures.TeamUse, error)
	Team(ctx context.Context, p access.Person, id string) (figures.TeamFigures, error)
	Key(ctx context.Context, p access.Person, team, key string) (figures.KeyFigures, error)
	Money(ctx context.Context, p access.Person, q figures.MoneyQuery) (figures.Money, error)
	Bill(ctx context.Context, p access.Person, q figures.MoneyQuery, take func(rows []limit.Row) error) error
	TaskList(ctx context.Context, p access.Person, f figures.TaskFilter) (figures.TaskList, error)
	Task(ctx context.Context, p access.Person, team, id string) (figures.Task, error)
	RequestList(ctx context.Context, p access.Person, f recent.Filter) (recent.Page, error)
	Request(ctx context.Context, p access.Person, id string) (recent.Request, error)
	Search(ctx context.Context, p access.Person, text string) ([]figures.Found, error)
	Latency(ctx context.Context, p access.Person, q figures.LatencyQuery) ([]figures.LatencyRow, error)
	FaultList(ctx context.Context, p access.Person) []figures.Fault
	Refused(ctx context.Context, p access.Person, q figures.RefusedQuery) (figures.Refused, error)
	Deliveries(ctx context.Context, p access.Person, q event.Query) (event.Report, error)
	AccountList(ctx context.Context, p access.Person) (figures.AccountList, error)
	Rules(ctx context.Context, p access.Person, day bool) (figures.Rules, error)
}

// Config are the effective settings.
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
