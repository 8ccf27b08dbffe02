package figures

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/telemetry/recent"
)

// traffic reads recent requests and their counts.
type traffic struct {
	deps  *Deps
	turns chan struct{} // a semaphore for readings of all recent requests
}

const usualRequests = 100

// RequestList returns a page of the last 10,000 requests of all replicas. Only people who see all teams get those without a valid key.
func (f *traffic) RequestList(ctx context.Context, p access.Person, q recent.Filter) (list recent.Page, err error) {
	if q.Size < 1 {
		q.Size = usualRequests
	}
	if q.Teams, err = f.whose(p, q.Teams...); err != nil {
		return list, err
	}
	list, err = f.recent(ctx, q)
	if errors.Is(err, recent.ErrCursor) {
		err = fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return list, err
}

// Request returns one of the last requests.
func (f *traffic) Request(ctx context.Context, p access.Person, id string) (r recent.Request, err error) {
	teams, err := f.whose(p)
	if err != nil || id == "" {
		return r, ErrAbsent
	}
	page, err := f.recent(ctx, recent.Filter{Teams: teams, ID: id, Size: 1})
	if err != nil {
		return r, err
	}
	if len(page.Requests) == 0 {
		return r, ErrAbsent
	}
	return page.Requests[0], nil
}

// ReadingBound states the bound of readings of all recent requests.
const ReadingBound = "readings of all recent requests: 2 at once, others wait"

// readings bounds concurrent readings, to leave the other cores to requests.
const readings = 2

// recent returns a page of the recent requests. It waits while others read.
func (f *traffic) recent(ctx context.Context, r recent.Filter) (recent.Page, error) {
	select {
	case f.turns <- struct{}{}:
	default:
		f.deps.Queued()
		select {
		case f.turns <- struct{}{}:
		case <-ctx.Done():
			return recent.Page{}, ctx.Err()
		}
	}
	defer func() { <-f.turns }()
	return f.deps.Recent.Requests(ctx, r)
}

// Rules are the rules that requests broke recently.
type Rules struct {
	Since   time.Time
	Broken  map[string]recent.RuleCount // by id, without rules that no request broke
	Refused int64                       // requests that one rule or more refused
}

// refusedByRule is the refusal of a request that breaks a rule.
const refusedByRule = "inspect/rules"

// Rules counts the rules that requests of the teams that a person sees broke in the last hour or 24 hours. It reads Redis once.
func (f *traffic) Rules(ctx context.Context, p access.Person, day bool) (r Rules, err error) {
	at, span := f.deps.Now(), time.Hour
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

// minutes returns the counts of the teams that a person sees, or of all requests together for a person who sees all.
func (f *traffic) minutes(ctx context.Context, p access.Person, from, to time.Time) ([]recent.Minute, error) {
	return f.deps.Recent.Minutes(ctx, f.whoseMinutes(p), from, to.Add(time.Minute))
}

// whoseMinutes returns the teams whose minutes a person gets, or "", all requests together.
func (f *traffic) whoseMinutes(p access.Person) []string {
	visible, all := f.deps.visible(p)
	if all {
		return []string{""}
	}
	return idsOf(visible)
}

// whose returns the teams whose requests a person gets, of the asked ones or of all; nil: all requests, also those without a team. A team
// that was removed from the file may still have requests.
func (f *traffic) whose(p access.Person, asked ...string) ([]string, error) {
	switch {
	case slices.ContainsFunc(asked, func(team string) bool { return !p.Sees(team) }):
		return nil, ErrAbsent
	case len(asked) > 0:
		return asked, nil
	case p.SeesAll():
		return nil, nil
	}
	return append([]string{}, p.Teams...), nil
}
