package figures

import (
	"context"
	"time"

	"sluice/gateway/console/access"
	"sluice/telemetry/recent"
)

// Rules are the rules that requests broke lately.
type Rules struct {
	Since   time.Time
	Broken  map[string]recent.RuleCount // by id; a rule that none broke is left out
	Refused int64                       // requests that were refused for a rule, or for several
}

// refusedByRule is the refusal of a request that breaks a rule.
const refusedByRule = "inspect/rules"

// Rules counts what requests broke in the last hour, or in the last 24 hours: those of the teams that a person sees. It reads Redis
// once.
func (f *Figures) Rules(ctx context.Context, p access.Person, day bool) (r Rules, err error) {
	at, span := f.Deps.Now(), time.Hour
	if day {
		span = 24 * time.Hour
	}
	r.Since = at.Truncate(time.Minute).Add(time.Minute - span)
	minutes, err := f.minutes(ctx, p, r.Since, at)
	if err != nil {
		return r, err
	}
	var all recent.Counts
	for i := range minutes {
		all.Add(&minutes[i].Counts)
	}
	r.Broken, r.Refused = all.Rules, all.Refusals[refusedByRule]
	return r, nil
}

// minutes returns what the teams that a person sees did since a time, or what all requests did, for a person who sees all.
func (f *Figures) minutes(ctx context.Context, p access.Person, from, to time.Time) ([]recent.Minute, error) {
	teams, all := f.visible(p)
	of := idsOf(teams)
	if all {
		of = []string{""}
	}
	return f.Lately.Minutes(ctx, of, from, to.Add(time.Minute))
}
