package figures

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/gateway/console/access"
	"sluice/telemetry/recent"
)

// RequestFilter chooses requests. Empty fields choose all.
type RequestFilter struct {
	Team    string
	Status  int    // HTTP status
	Refusal string // stage/reason, or a stage; "any": every refused request
	Model   string
	From    time.Time // that came then or later
	After   string    // cursor of the next page
	Size    int       // requests on a page, at most 1,000; 0: 100
}

// RequestList is a page of requests, the newest first.
type RequestList struct {
	Requests []recent.Request
	Next     string // cursor; empty: no more
}

const usualRequests = 100

// RequestList returns a page of the last 10,000 requests of all replicas. Those without a valid key are for people who see all.
func (f *Figures) RequestList(ctx context.Context, p access.Person, q RequestFilter) (list RequestList, err error) {
	r := recent.Filter{Status: q.Status, Refusal: q.Refusal, Model: q.Model, From: q.From, Cursor: q.After, Size: q.Size}
	if r.Size < 1 {
		r.Size = usualRequests
	}
	if r.Teams, err = f.whose(p, q.Team); err != nil {
		return list, err
	}
	page, err := f.recent(ctx, r)
	if errors.Is(err, recent.ErrCursor) {
		err = fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return RequestList(page), err
}

// Request returns one of the last requests.
func (f *Figures) Request(ctx context.Context, p access.Person, id string) (r recent.Request, err error) {
	teams, err := f.whose(p, "")
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

// ReadingBound is the bound of readings that go through all recent requests, in words.
const ReadingBound = "readings of all recent requests: 2 at once, others wait"

// readings is how many go on at once, so that the other cores are left to requests.
const readings = 2

// recent returns a page of the recent requests. It waits for its turn.
func (f *Figures) recent(ctx context.Context, r recent.Filter) (recent.Page, error) {
	select {
	case f.requests <- struct{}{}:
	default:
		f.Queued()
		select {
		case f.requests <- struct{}{}:
		case <-ctx.Done():
			return recent.Page{}, ctx.Err()
		}
	}
	defer func() { <-f.requests }()
	return f.Lately.Requests(ctx, r)
}

// whose lists the teams whose requests a person gets; nil: all, and those without a team. A team that left the file still has
// requests.
func (f *Figures) whose(p access.Person, team string) ([]string, error) {
	switch {
	case team != "" && !p.Sees(team):
		return nil, ErrAbsent
	case team != "":
		return []string{team}, nil
	case p.SeesAll():
		return nil, nil
	}
	return append([]string{}, p.Teams...), nil
}
