package gateway

import (
	"time"

	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// New builds a Gateway. It starts nothing and connects to nothing.
func New(config Config, deps Deps) *Gateway {
	if deps.Remote != nil {
		deps.takeTurns()
	}
	g := &Gateway{config: config, deps: deps, live: new(live), alarms: &alarms{now: deps.Now, metrics: deps.Metrics, logger: deps.Logger}}
	g.terms = newClientTerms(&g.config, deps.Now, g.live)
	headers, slots := newHeaders(&g.config), newSlots(config.Replicas)
	g.inspection = &inspection{config: &g.config, headers: headers, metrics: deps.Metrics, buffers: wire.NewBuffers(config.BodyBudget)}
	g.throttle = &throttle{
		strikes: limit.NewStrikes(brokenRate, brokenBurst, deps.Now), noted: limit.NewStrikes(notedRate, notedBurst, deps.Now),
		unheld: make(chan struct{}, MostUnheld), reached: deps.UnheldReached, refusals: newRecentRefusals(), slots: slots, budget: &budget{total: config.BodyBudget},
	}
	g.idempotency = &idempotency{outcomes: deps.Outcomes, now: deps.Now, wait: config.ImageWait, live: g.live}
	// The hold of a request outlives the longest silence; a request that runs on extends it.
	lease := config.HeaderTimeout + config.IdleTimeout + time.Minute
	g.admission = &admission{deps: &g.deps, live: g.live, refusals: g.throttle.refusals, lease: lease}
	g.service = &service{config: &g.config, deps: &g.deps, live: g.live, alarms: g.alarms, headers: headers, lease: lease}
	g.service.client = upstream.New(g.service.clientConfig())
	g.forward = newForward(g.service, config.UpstreamURL)
	g.polls = &polls{config: &g.config, deps: &g.deps, live: g.live, service: g.service, slots: slots}
	g.fronts = newFronts(&g.config, headers, deps.Now())
	g.fronts.polls = g.polls
	g.fronts.buffers = g.inspection.buffers
	g.usage = &usage{accounts: deps.Accounts, slots: slots, reading: make(chan struct{}, 1)}
	g.useTasks(tasks.New(g.tasksConfig(), g.tasksDeps()))
	g.SetTeams(deps.Teams)
	g.SetUpstreamKey(deps.UpstreamKey)
	g.routes = newRoutes(config.UpstreamURL, g.table())
	g.fronts.natives = g.routes.exact
	return g
}

func (g *Gateway) tasksConfig() tasks.Config {
	return tasks.Config{TTL: g.config.TaskTTL, Interval: g.config.PollInterval, Zone: g.config.TaskZone}
}

func (g *Gateway) tasksDeps() tasks.Deps {
	return tasks.Deps{
		Now: g.deps.Now, Claims: g.deps.Claims, Queries: g.deps.Queries, Cancels: g.deps.Cancels,
		Query: g.service.queryTask, Charge: g.admission.chargeTask, Full: g.admission.fullTeams, Label: g.live.label, Cover: g.live.cover,
		Metrics: g.deps.Metrics, Traces: g.deps.Traces, Logger: g.deps.Logger,
	}
}

// useTasks hands the tasks to everything that follows them.
func (g *Gateway) useTasks(t *tasks.Tasks) {
	claims := &claims{tasks: t, live: g.live, now: g.deps.Now, zone: g.config.TaskZone, logger: g.deps.Logger}
	g.tasks, g.polls.tasks, g.usage.tasks = t, t, t
	g.admission.tasks, g.admission.claims, g.service.claims = t, claims, claims
}

// SetTeams replaces the teams for every request that has not been authenticated yet.
func (g *Gateway) SetTeams(file *teams.File) {
	if g.deps.Identities != nil {
		g.deps.Identities.Follow(file.Issuers)
	}
	g.live.teams.Store(file)
	g.throttle.refusals.forgetAll()
}

// Currency is the currency in the teams file in force; may be empty.
func (g *Gateway) Currency() string { return g.live.teams.Load().Currency }

// SetUpstreamKey replaces the service's key for every request that has not been sent yet.
func (g *Gateway) SetUpstreamKey(key Secret) {
	g.live.key.Store(upstream.NewCredential(key, g.config.UpstreamURL, g.live.key.Load()))
}

// BeginDrain makes every answer from now on end its connection, so that clients move to another replica while this
// one still serves.
func (g *Gateway) BeginDrain() { g.live.draining.Store(true) }

// BeginStop refuses every request from now on with 503 serve/stopping; running requests go on.
func (g *Gateway) BeginStop() { g.live.stopping.Store(true) }

// Close closes the idle connections to the service. It leaves running requests alone.
func (g *Gateway) Close() { g.service.client.Close() }
