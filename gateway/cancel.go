package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// cancel asks the service to cancel one of the team's tasks and passes its answer on, also if it is too late. Cancels share
// the account's rate of cancels. After a cancel that worked it queries the task's state at once, so that the next poll shows
// it and the hold is free.
func (p *polls) cancel(w *reply, r *http.Request, s *requestState) error {
	claim, err := p.own(r.Context(), s)
	if err != nil {
		return err
	}
	if !p.tasks.MayCancel(r.Context(), s.Team) {
		return refuse(refuseAccount).say("The service's account, which all teams share, is at its rate of cancels; team %s has used its share; send the request again later.", s.Team).retry(time.Second)
	}
	got, err := p.service.do(s, post, "tasks/"+s.task+"/cancel")
	if err != nil {
		return err
	}
	if got.status == http.StatusOK && !claim.Final() {
		latest := p.tasks.Look(context.WithoutCancel(r.Context()), claim, s.Span)
		s.recordEnd(&latest)
		s.waited += latest.Took
	}
	return got.write(w)
}

// cancelRoute is the route of a cancel that no client's request makes.
var cancelRoute = &route{method: post, path: "tasks/{id}/cancel", endpoint: policy.EndpointTasks}

var (
	// ErrNoTask is the error of a task that is not the team's, or that is no longer known.
	ErrNoTask = errors.New("there is no such task")
	// ErrNoCancel is the error of a cancel that the service did not take, because the task has begun or ended.
	ErrNoCancel = errors.New("the service did not take the cancel")
	// ErrCancelRate is the error of a cancel beyond the account's rate of cancels.
	ErrCancelRate = errors.New("the service's account is at its rate of cancels")
)

// HasTask reports whether a task is a team's.
func (g *Gateway) HasTask(ctx context.Context, team, task string) (bool, error) {
	_, err := g.tasks.Own(ctx, team, task)
	if errors.Is(err, tasks.ErrAbsent) {
		return false, nil
	}
	return err == nil, err
}

// CancelTask asks the service to cancel a team's task, for an operator. Its hold is settled as after a client's cancel. The error is
// one of those above, or says why the service could not be asked.
func (g *Gateway) CancelTask(ctx context.Context, team, task string) error {
	claim, err := g.tasks.Own(ctx, team, task)
	switch {
	case errors.Is(err, tasks.ErrAbsent):
		return ErrNoTask
	case err != nil:
		return err
	case !g.tasks.MayCancel(ctx, team):
		return ErrCancelRate
	}
	got, err := g.service.cancelTask(ctx, &claim)
	switch {
	case err != nil:
		return err
	case got.status != 200:
		return ErrNoCancel
	}
	if !claim.Final() {
		g.tasks.Look(context.WithoutCancel(ctx), claim, telemetry.Span{})
	}
	return nil
}

// cancelTask sends a cancel to the service.
func (u *service) cancelTask(ctx context.Context, claim *cache.Claim) (answer, error) {
	s := &requestState{
		service: u, match: match{route: cancelRoute}, client: ctx, method: post, creation: claim.Trace, exchange: new(upstream.Exchange), room: new(room),
	}
	s.Team, s.Task, s.Model, s.Label = claim.Team, claim.Task, claim.Model, u.live.label(claim.Model)
	return u.do(s, post, "tasks/"+claim.Task+"/cancel")
}

// InFlight is how many requests of a team with a limit on them this process has in flight, and how many it may have: its share of the
// team's limit; 0 is any number.
func (g *Gateway) InFlight(team *teams.Team) (used, most int64) {
	return g.usage.slots.of(team.ID).used.Load(), g.usage.slots.most(team)
}
