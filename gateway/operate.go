package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/echo"
	"sluice/gateway/feed"
	"sluice/gateway/oidc"
	"sluice/gateway/refusal"
	"sluice/gateway/tasks"
	"sluice/gateway/usage"
	"sluice/gateway/wire"
	"sluice/policy/account"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// backgroundEvery is the interval of background work.
const backgroundEvery = time.Second

// Work does the background work until ctx ends. One goroutine MUST run it for as long as the gateway serves.
func (g *Gateway) Work(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	accounts, claims := telemetry.NewErrors(g.deps.Logger, "accounts"), telemetry.NewErrors(g.deps.Logger, "tasks")
	for _, do := range []func(){
		func() { accounts.Log(g.deps.Balances.Maintain(ctx)) }, // what it has not posted it keeps, also if it panics
		func() { claims.Log(g.deps.Claims.Maintain(ctx)) },
		func() { g.polls.tasks.Finish(ctx) },
		func() { g.quotas.Round(ctx) },
		func() { g.inspection.buffers.Age(g.deps.Now()) },
	} {
		working.Go(func() { every(ctx, func() { telemetry.Fence(g.deps.Logger, "background", do) }) })
	}
	working.Go(func() { telemetry.Keep(ctx, g.deps.Logger, "background", g.live.pool.Run) })
}

func every(ctx context.Context, do func()) {
	tick := time.NewTicker(backgroundEvery)
	defer tick.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Set replaces the teams and the accounts at the service, both together, for every request that is not authenticated yet. Keys and
// addresses of accounts are replaced for every request that has not been sent yet. Calls MUST NOT overlap.
func (g *Gateway) Set(file *teams.File, up accounts.Set) {
	g.live.pool.Replace(up)
	g.setTeams(file)
}

func (g *Gateway) setTeams(file *teams.File) {
	if g.deps.Identities != nil {
		g.deps.Identities.Follow(file.Issuers)
	}
	g.live.now.Store(&inForce{file, g.live.pool.Now()})
	g.throttle.refusals.ForgetAll()
	g.admission.queue.Changed() // the key of a waiting request may have been revoked
	g.deps.Feed.Changed()
}

// Currency is the currency in the teams file in force.
func (g *Gateway) Currency() unit.Currency { return g.live.teams().In() }

// House says how full the house is, as last seen: "spend-day 3120.5 of 4000 (78 %)", one after another; "none" without a house.
func (g *Gateway) House() string { return g.quotas.House() }

// Standings returns the state of each account at the service, for operators.
func (g *Gateway) Standings() []account.Standing { return g.live.pool.Standings() }

// BeginDrain makes every answer from now on end its connection, so that clients move to another replica while this
// one still serves. Streams of events end.
func (g *Gateway) BeginDrain() { g.live.draining.Store(true); g.deps.Feed.Stop() }

// BeginStop refuses every request from now on, and those that wait their turn, with 503 serve/stopping. Running requests go on.
func (g *Gateway) BeginStop() {
	g.live.stopping.Store(true)
	g.admission.queue.Stop()
}

// Close closes the idle connections to the service. Running requests go on.
func (g *Gateway) Close() { g.live.pool.Close() }

var (
	// ErrNoTask is the error of a task that is not the team's, or that is no longer known.
	ErrNoTask = tasks.ErrAbsent
	// ErrNoCancel is the error of a cancel that the service did not take, because the task has begun or ended.
	ErrNoCancel = errors.New("the service did not take the cancel")
	// ErrCancelRate is the error of a cancel beyond the account's rate of cancels.
	ErrCancelRate = errors.New("the service's account is at its rate of cancels")
)

// HasTask reports whether a task is a team's.
func (g *Gateway) HasTask(ctx context.Context, team, task string) (bool, error) {
	_, err := g.polls.tasks.Own(ctx, team, task)
	if errors.Is(err, ErrNoTask) {
		return false, nil
	}
	return err == nil, err
}

// CancelTask asks the service to cancel a team's task, for an operator. Its hold is settled as after a client's cancel. The error
// is one of those above, or the reason why the service could not be asked.
func (g *Gateway) CancelTask(ctx context.Context, team, task string) error {
	claim, err := g.polls.tasks.Own(ctx, team, task)
	switch {
	case err != nil:
		return err
	case !g.polls.tasks.MayCancel(ctx, &claim):
		return ErrCancelRate
	}
	got, err := g.polls.service.cancelTask(ctx, &claim)
	switch {
	case err != nil:
		return err
	case got.status != http.StatusOK:
		return ErrNoCancel
	}
	if !claim.Final() {
		g.polls.tasks.Look(context.WithoutCancel(ctx), claim, telemetry.Span{})
	}
	return nil
}

// Queue shows how many requests of each team wait their turn in this process, and how many may.
func (g *Gateway) Queue(show telemetry.ShowQueue) {
	for _, team := range g.live.teams().List {
		show(team.ID, g.admission.queue.Waiting(team.ID), team.Queue.Most())
	}
}

// InFlight returns how many requests of a team this process has in flight, and how many it may have: its share of the team's limit.
// Without a limit most is 0, and used includes the requests that wait their turn.
func (g *Gateway) InFlight(team *teams.Team) (used, most int64) {
	used, most = g.throttle.loads.InFlight(team)
	if most == 0 {
		used += int64(g.admission.queue.Waiting(team.ID))
	}
	return used, most
}

// usageOf answers with the team's limits and tasks, and with its ledger if the query names days.
func usageOf(reports *usage.Reports) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		text, done, err := reports.Report(r.Context(), &usage.Asker{ID: s.ID, Team: s.team, Key: s.ledgerKey, Query: r.URL.RawQuery})
		defer done()
		wrong, isQuery := errors.AsType[*usage.ErrQuery](err)
		switch {
		case err == nil:
			return answer{status: http.StatusOK, header: jsonHeader(), body: text}.write(w)
		case isQuery:
			return refusal.New(refusal.Rules).Say("%s", wrong.Text)
		}
		of := "usage"
		if errors.Is(err, usage.ErrLedger) {
			of = "ledger"
		}
		return refusal.Later(refusal.State, err, "The %s of team %s cannot be read", of, s.Team)
	}
}

// streamOf answers with the team's events as they are written.
func streamOf(d *Deps, live *live) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		query, err := feed.ReadQuery(s.Team, r.URL.RawQuery, r.Header["Last-Event-Id"])
		if err != nil {
			return refusal.New(refusal.Rules).Say("%s.", err)
		}
		begun := d.Now()
		stream, err := d.Feed.Open(r.Context(), query)
		s.waited += d.Now().Sub(begun) // the client wanted the wait
		switch {
		case errors.Is(err, feed.ErrFull):
			return refusal.New(refusal.Concurrent).Say("Team %s has %d streams of events open at this gateway, which is all it may; end one first.",
				s.Team, feed.MostStreams).Retry(time.Second)
		case errors.Is(err, feed.ErrStopped):
			return refusal.Stopped()
		case err != nil:
			return refusal.Later(refusal.State, err, "The events of team %s cannot be read", s.Team)
		}
		defer stream.Close()
		defer func(begun time.Time) { s.waited += d.Now().Sub(begun) - w.writing }(d.Now())
		_ = stream.Serve(r.Context(), w, func() error { // the Record notes its error: the client left
			if token := wire.Bearer(s.header["Authorization"]); d.Identities != nil && oidc.IsToken(token) {
				if _, err := d.Identities.Identify(r.Context(), token); err != nil {
					return err
				}
			}
			_, _, err := live.now.Load().allows(s, d.Now())
			return err
		})
		return nil
	}
}

// echoOf answers tests of the path to Sluice.
func echoOf(trials *echo.Trials, proxies []netip.Prefix) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		s.patience, s.preferred = wire.PreferredWait(r.Header)
		rested, err := trials.Answer(w, r, echo.Asked{
			RequestID: s.ID, Team: s.Team, Client: s.Client, Trusted: wire.IsTrusted(r, proxies),
			Wait: s.patience,
		})
		s.waited += rested
		if errors.Is(err, echo.ErrBusy) {
			return refusal.New(refusal.Concurrent).Say("Team %s has %d trials of the way to Sluice under way, which is the most.", s.Team,
				echo.PerTeam).Retry(time.Second)
		}
		if err != nil {
			return refusal.New(refusal.Rules).Say("The query: %s.", err)
		}
		return nil
	}
}
