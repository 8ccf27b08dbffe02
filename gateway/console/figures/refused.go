package figures

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/telemetry/recent"
)

// RefusedQuery selects refusals.
type RefusedQuery struct {
	Team     string // empty: all that the person sees
	By       string // one of [RefusedBy]
	Failed   bool   // the requests that failed, too
	From, To time.Time
}

// RefusedBy are the dimensions of refusals.
var RefusedBy = []string{"reason", "limit", "rule", "model"}

// Refused are the kept refusals of a span.
type Refused struct {
	From   time.Time     // the first step's beginning
	Step   time.Duration // of Groups' steps
	Groups []RefusedGroup
	Kept   int   // kept refused requests, which Groups count
	All    int64 // all refused requests, from the counts of minutes
}

// RefusedGroup are the refusals with one value of the dimension.
type RefusedGroup struct {
	Name  string // empty: requests without a value
	Count int64  // kept requests
	All   int64  // all requests; only by reason
	Last  time.Time
	Steps []int64 // Count by step
}

// refusedSteps bounds the steps of time.
const refusedSteps = 60

// Refused groups refusals, largest group first. A request that several rules refused counts at each.
func (f *traffic) Refused(ctx context.Context, p access.Person, q RefusedQuery) (r Refused, err error) {
	if !slices.Contains(RefusedBy, q.By) || !q.From.Before(q.To) {
		return r, ErrQuery
	}
	var asked []string
	if q.Team != "" {
		asked = []string{q.Team}
	}
	whose, err := f.whose(p, asked...)
	if err != nil {
		return r, err
	}
	outcome := recent.AnyRefusal
	if q.Failed {
		outcome = recent.RefusedOrFailed
	}
	var page recent.Page
	var minutes []recent.Minute
	var reading Group
	reading.Go(func() (err error) {
		page, err = f.recent(ctx, recent.Filter{Teams: whose, Refusal: outcome, From: q.From, To: q.To, Size: recent.MostLines})
		return err
	})
	reading.Go(func() (err error) {
		if q.Team != "" {
			minutes, err = f.deps.Recent.Minutes(ctx, asked, q.From, q.To)
		} else {
			minutes, err = f.minutes(ctx, p, q.From, q.To)
		}
		return err
	})
	if err := reading.Wait(); err != nil {
		return r, err
	}
	r.group(page.Requests, q)
	for i := range minutes {
		if r.All += minutes[i].Refused(); q.Failed {
			r.All += minutes[i].Failed
		}
		for j := range r.Groups {
			r.Groups[j].All += minutes[i].Refusals[r.Groups[j].Name]
		}
	}
	r.All = max(r.All, int64(r.Kept)) // the last seconds are not in the minutes yet
	return r, nil
}

// group groups requests.
func (r *Refused) group(requests []recent.Request, q RefusedQuery) {
	r.From, r.Kept = q.From.Truncate(time.Minute), len(requests)
	r.Step = max(q.To.Sub(r.From)/refusedSteps, 1).Truncate(time.Minute)
	if r.Step = max(r.Step, time.Minute); r.From.Add(refusedSteps * r.Step).Before(q.To) {
		r.Step += time.Minute
	}
	groups, steps := map[string]*RefusedGroup{}, int((q.To.Sub(r.From)+r.Step-1)/r.Step)
	for i := range requests {
		x := &requests[i]
		for _, name := range refusedNames(x, q.By) {
			g := groups[name]
			if g == nil { // requests are sorted, newest first
				g = &RefusedGroup{Name: name, Last: x.At, Steps: make([]int64, steps)}
				groups[name] = g
			}
			g.Count++
			if n := int(x.At.Sub(r.From) / r.Step); n >= 0 && n < steps {
				g.Steps[n]++
			}
		}
	}
	for _, g := range groups {
		r.Groups = append(r.Groups, *g)
	}
	slices.SortFunc(r.Groups, func(a, b RefusedGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
}

// refusedNames returns a request's values of a dimension.
func refusedNames(r *recent.Request, by string) []string {
	switch by {
	case "limit":
		if r.Limit.Name == "" {
			return nil
		}
		return []string{r.LimitName()}
	case "rule":
		return r.Rules
	case "model":
		return []string{r.Model}
	}
	return []string{r.Refusal}
}
