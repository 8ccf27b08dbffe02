// Package gateway is Sluice's public side: the routes, the stages a request passes, and the way to the service.
//
// It joins the other packages: policy judges requests, policy/limit admits and charges them, cache and gateway/tasks know
// tasks, gateway/upstream exchanges bytes with the service, and telemetry reads what an answer used. It decides none of that
// itself, and reads no environment, no file and no Redis. Read gateway.go first.
//
// It promises that accepted bodies and successful answers pass byte for byte; that no request is sent again once a byte of it has
// left; that the service's key is sent only to the service; that a team never sees another team's tasks; and that every request
// ends, is recorded once, and is answered in the service's own form.
package gateway

import (
	"slices"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/billing"
	"sluice/gateway/echo"
	"sluice/gateway/loads"
	"sluice/gateway/quotas"
	"sluice/gateway/tasks"
	"sluice/gateway/turn"
	"sluice/gateway/usage"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/forms"
	"sluice/telemetry"
)

// Gateway is the public listener's handler. Create it with [New]; it is safe for concurrent use.
type Gateway struct {
	config Config
	deps   Deps
	live   *live
	bounds *clientBounds
	routes *routes

	// The stages and handlers, in the order of the table.
	authenticate stage
	inspection   *inspection
	throttle     *throttle
	idempotency  *idempotency
	admission    *admission
	forward      *forward
	polls        *polls
	usage        *usage.Reports
	fronts       *fronts

	quotas *quotas.Watch
}

// table is the whole public surface except OpenAI's interface; any other path is 404. Each chain names its handler first and
// then the stages before it, in running order.
func (g *Gateway) table() []route {
	generate := chain(g.forward.forward,
		g.authenticate, g.inspection.declared, g.throttle.throttle, g.inspection.inspect, g.idempotency.runOnce,
		g.throttle.refuseRememberedAfterLookup,
		g.admission.admit)
	recall := chain(g.polls.recall, g.authenticate)
	cancel := chain(g.polls.cancel, g.authenticate)
	list := chain(g.polls.list, g.authenticate)
	usage, result := chain(usageOf(g.usage), g.authenticate), chain(g.polls.result, g.authenticate)

	table := []route{
		{method: post, path: "services/aigc/text-generation/generation", endpoint: policy.EndpointText, run: generate},
		{method: post, path: "services/aigc/multimodal-generation/generation", endpoint: policy.EndpointMultimodal, run: generate},
		{method: post, path: "services/aigc/image-generation/generation", endpoint: policy.EndpointImage, creates: true, run: generate},
		{
			method: post, path: "services/aigc/text2image/image-synthesis", endpoint: policy.EndpointImage, creates: true, older: true,
			run: generate,
		},
		{
			method: post, path: "services/aigc/image2image/image-synthesis", endpoint: policy.EndpointImage, creates: true, older: true,
			run: generate,
		},
		{method: get, path: "tasks", endpoint: policy.EndpointTasks, run: list},
		{method: get, path: "tasks/{id}", endpoint: policy.EndpointTasks, query: true, run: recall},
		{method: post, path: "tasks/{id}/cancel", endpoint: policy.EndpointTasks, run: cancel},
		{method: get, path: usagePath, run: usage},
		{method: get, path: "/sluice/v1/events", run: chain(streamOf(&g.deps, g.live), g.authenticate)},
		{method: get, path: resultPath, endpoint: policy.EndpointTasks, run: result},
		{path: echoPath, run: chain(echoOf(echo.New(), g.config.TrustedProxies), g.authenticate)},
	}
	if path := g.config.EmbeddingsPath; path != "" {
		table = append(table, route{method: post, path: path, reads: forms.Embeddings, endpoint: policy.EndpointEmbeddings, run: generate})
	}
	for _, p := range g.config.ForwardPaths {
		table = append(table, route{path: p.Prefix, prefix: true, reads: p.Form, endpoint: policy.EndpointOther, run: generate})
	}
	return table
}

// frontTable has the routes of OpenAI's interface. The stage translate turns the client's request into one of the service; from
// then on it is a request like any other.
func (g *Gateway) frontTable() []route {
	generate := func(kind frontRequest, more ...stage) handler {
		first := []stage{g.authenticate, g.inspection.declared, g.throttle.throttle}
		if kind.digest != nil {
			first = append(first, g.fronts.noteUnheld(kind, g.throttle, g.idempotency.noteRefused))
		}
		first = append(first, g.fronts.translate(kind))
		last := []stage{
			g.inspection.inspect, g.throttle.refuseRememberedBeforeLookup, g.idempotency.runOnce, g.throttle.refuseRememberedAfterLookup,
			g.admission.admit,
		}
		return chain(g.forward.forward, slices.Concat(first, more, last)...)
	}
	count := chain(g.inspection.count, g.authenticate, g.inspection.declared, g.throttle.throttle, g.fronts.translate(frontCount))
	models := chain(g.fronts.listModels, g.authenticate)
	task := chain(g.fronts.showTask, g.authenticate)
	model := chain(g.fronts.showModel, g.authenticate)

	table := []route{
		{method: post, path: frontPrefix + "chat/completions", front: "chat", run: generate(frontChat)},
		{method: post, path: frontPrefix + "responses", front: "responses", run: generate(frontResponses)},
		{method: post, path: frontPrefix + "messages", front: "messages", run: generate(frontMessages)},
		{method: post, path: frontPrefix + "messages/count_tokens", front: "messages", free: true, run: count},
		{
			method: post, path: frontPrefix + "images/generations", front: "images", repeats: true,
			run: generate(frontMake, g.idempotency.givenUp, g.fronts.pictures),
		},
		{
			method: post, path: frontPrefix + "images/edits", front: "images", form: true, repeats: true,
			run: generate(frontEdit, g.idempotency.givenUp, g.fronts.pictures),
		},
		{method: get, path: frontTasks + "{id}", front: "images", endpoint: policy.EndpointTasks, query: true, run: task},
		{method: get, path: frontModels, run: models},
		{method: get, path: frontModels + "/{id}", run: model},
	}
	if g.config.EmbeddingsPath != "" {
		table = append(table, route{method: post, path: frontPrefix + "embeddings", front: "embeddings", run: generate(frontEmbed)})
	}
	return table
}

// New builds a Gateway. It starts nothing and connects to nothing.
func New(config Config, deps Deps) *Gateway {
	if deps.Remote != nil {
		deps.takeTurns()
	}
	g, queue := &Gateway{config: config, deps: deps, live: new(live)}, turn.New()
	g.live.pool = accounts.New(poolConfig(&g.config, &g.deps, queue), deps.Upstream)
	g.bounds = newClientBounds(&g.config, deps.Now, g.live)
	alarms := telemetry.NewAlarms(deps.Now, deps.Metrics, deps.Logger)
	headers, loads, buffers := newHeaders(&g.config), loads.New(config.Fleet, config.BodyBudget), wire.NewBuffers(config.BodyBudget)
	// The hold of a request outlives the longest silence; a request that runs on extends it.
	lease := config.HeaderTimeout + config.IdleTimeout + time.Minute

	g.authenticate = authenticate(g.live, deps.Identities, deps.KeyAccepted, alarms)
	g.inspection = &inspection{config: &g.config, headers: headers, metrics: deps.Metrics, buffers: buffers}
	g.throttle = newThrottle(loads, queue, deps.Now, deps.UnheldReached)
	g.idempotency = &idempotency{outcomes: deps.Outcomes, now: deps.Now, wait: config.ImageWait, live: g.live}
	charges := charges{deps: &g.deps, live: g.live, refusals: g.throttle.refusals, contradictions: billing.NewContradictions(deps.Logger)}
	service := &service{config: &g.config, deps: &g.deps, live: g.live, alarms: alarms, headers: headers, lease: lease}
	tasks := tasks.New(tasks.Config{
		TTL: config.TaskTTL, Interval: config.PollInterval, Zone: config.TaskZone,
		MaxUnsettled: config.maxUnsettled,
	}, tasks.Deps{
		Now: deps.Now, Claims: g.deps.Claims, Queries: g.deps.Queries, Cancels: g.deps.Cancels,
		Query: service.queryTask, Charge: charges.chargeTask, Contradicts: charges.contradictions.Note, Full: charges.fullTeams,
		Label: g.live.label, Money: g.live.money, Cover: g.live.pool.Cover,
		Has: g.live.pool.Has, QueryRate: g.live.pool.QueryRate, Shown: g.live.pool.Shown, To: deps.To, Mirrored: g.live.mirrored(deps.Result),
		Metrics: deps.Metrics, Traces: deps.Traces, Logger: deps.Logger, Ended: deps.TaskEnded, Alarm: alarms.Raise,
	})
	claims := &claims{tasks: tasks, live: g.live, now: deps.Now, zone: config.TaskZone, logger: deps.Logger}
	g.admission = &admission{charges: charges, tasks: tasks, claims: claims, lease: lease, throttle: g.throttle, queue: queue}
	g.forward = newForward(service, claims, g.admission.move)
	g.polls = &polls{config: &g.config, deps: &g.deps, live: g.live, service: service, loads: loads, tasks: tasks}
	g.usage = usage.New(g.deps.Balances, loads, tasks)
	g.quotas = quotas.New(quotas.Deps{
		Teams: g.live.teams, Balances: g.deps.Balances, Metrics: deps.Metrics, Logger: deps.Logger,
		Outbox: deps.Outbox, To: deps.To, Known: deps.Feed.Known,
	})
	g.setTeams(deps.Teams)
	g.routes = newRoutes(g.table())
	if config.OpenAI {
		g.fronts = newFronts(&g.config, headers, buffers, g.polls, g.routes.exact)
		g.routes.add(g.frontTable())
	}
	return g
}
