package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sluice/gateway/tasks"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Accounts keeps what teams may still spend. Its methods are called from any goroutine. Two forms of it are in package
// limit: in this process's memory, and in Redis.
type Accounts interface {
	// Admit MUST place the hold in all of its units or take nothing. An error is about the state, not about the team.
	Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error)
	// Settle MUST charge a hold once, however often it is called, and report whether this call did.
	Settle(ctx context.Context, c *limit.Charge) (bool, error)
	// SettleLater MUST charge a hold as Settle does, and MUST NOT wait for anything but a full queue. What cannot be
	// charged yet MUST be kept until it can.
	SettleLater(c *limit.Charge)
	// Look MUST tell how a team stands and change nothing.
	Look(ctx context.Context, team *teams.Team) (limit.Report, error)
	// TeamLedger MUST return what the team used on each of the days, yyyymmdd in UTC, in the order of reports, and no other
	// team's rows. Where these are more than most, it MUST return [limit.ErrRows], and SHOULD NOT read the rest.
	TeamLedger(ctx context.Context, team string, days []int, most int) ([]limit.Row, error)
	// Extend MUST keep an open hold open for that long from now.
	Extend(ctx context.Context, h *limit.Held, lease time.Duration) error
	// OpenTasks MUST tell at once how many tasks of a team were open when that was last known.
	OpenTasks(team string) int64
	// Tend MUST do what is due and no request waits for. One goroutine calls it. Its error is news for the operator.
	Tend(ctx context.Context) error
}

// unknownLease is how long the hold of a request whose outcome is unknown stands before it is charged as estimated.
const unknownLease = time.Hour

// admit holds what the request may cost, before anything is sent, and settles it when the answer has ended, however it
// ended.
func (g *Gateway) admit(next handler) handler {
	return func(w *reply, r *http.Request, c *call) error {
		hold := &limit.Hold{
			ID: c.ID, Team: c.team, Account: limit.AccountFor(c.teams.Account, c.Model), Model: c.Model, Endpoint: c.route.endpoint,
			Amounts: c.size, Task: c.creates, Lease: g.lease,
		}
		verdict, err := g.deps.Accounts.Admit(r.Context(), hold)
		if err != nil {
			return refuse(refuseState).say("What team %s may still spend is not known at the moment.", c.Team).because(err).retry(time.Second)
		}
		limitHeaders(w.Header(), &verdict)
		if verdict.Held == nil {
			refused := refuseLimit(&verdict, hold).keepHeaders()
			g.memos.remember(&verdict, refused, c, w.Header(), g.deps.Now())
			return refused
		}
		if verdict.Reason != limit.ReasonNone {
			w.Header().Add("Sluice-Shadow", "admit/"+string(verdict.Reason))
		}
		if n := c.size[limit.Images]; n > 0 {
			w.Header().Set("Sluice-Held", fmt.Sprintf("images=%d", n))
		}
		c.held, c.Held = verdict.Held, tasks.Cost(c.size, "")
		defer g.settle(r.Context(), c)
		return next(w, r, c)
	}
}

// refuseLimit says which limit refuses, whose it is, what is left, and when the request would fit.
func refuseLimit(v *limit.Verdict, h *limit.Hold) *refusal {
	name, team := v.Fault.Name(), h.Team.ID
	switch v.Reason {
	case limit.ReasonNever:
		return refuse(refuseNever).say("The request asks for %s and can never fit: team %s is allowed %s of %s per %s.",
			limit.Written(v.Fault.Unit, v.Asked), team, limit.Written(v.Fault.Unit, v.Fault.Limit), v.Fault.Unit, v.Fault.Per)
	case limit.ReasonTasks:
		return refuse(refuseTasks).say("Team %s has %d open tasks and may have %d; the next fits when one of them ends.", team, v.Fault.Used, v.Fault.Limit).retry(v.Wait)
	case limit.ReasonAccount:
		return refuse(refuseAccount).say("The service's account, which all teams share, is at its rate of %d %s per %s; this request fits in %s.",
			v.Fault.Limit, v.Fault.Unit, v.Fault.Per, shown(v.Wait)).retry(v.Wait)
	case limit.ReasonQuota:
		return refuse(refuseQuota).say("Team %s has %s left of its quota %s of %s, and this request may cost %s; %s.", team,
			limit.Written(v.Fault.Unit, v.Fault.Left), name, limit.Written(v.Fault.Unit, v.Fault.Limit), limit.Written(v.Fault.Unit, v.Asked), resets(v)).retry(v.Wait)
	}
	return refuse(refuseRate).say("Team %s has %d %s left of its rate of %d per %s, and this request takes %d; it fits in %s.", team,
		v.Fault.Left, v.Fault.Unit, v.Fault.Limit, v.Fault.Per, v.Asked, shown(v.Wait)).retry(v.Wait)
}

func resets(v *limit.Verdict) string {
	if v.Wait < v.Fault.Reset {
		return "requests that run hold the rest, and it may be free in " + shown(v.Wait)
	}
	return "it resets in " + shown(v.Wait)
}

func shown(d time.Duration) string { return max(d.Round(time.Millisecond), time.Millisecond).String() }
