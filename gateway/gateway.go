package gateway

import (
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Gateway is the public listener's handler. Create it with [New]; it is safe for concurrent use.
type Gateway struct {
	config Config
	deps   Deps

	routes   *routes
	upstream *transport
	proxy    *httputil.ReverseProxy
	budget   *budget
	slots    slots
	reading  chan struct{} // has room for the one request that reads a ledger
	strikes  *limit.Strikes
	memos    memos
	alarms   alarms
	tasks    *tasks.Tasks
	poll     *route // of tasks/{id}
	names    headerNames

	lease      time.Duration // of a request's hold: nothing is silent for longer, and what runs on is extended
	slowStart  time.Duration // see the constants; tests shorten them
	lingerTime time.Duration

	teams       atomic.Pointer[teams.File]
	upstreamKey atomic.Pointer[upstream.Credential]
	draining    atomic.Bool // every answer carries Connection: close
	stopping    atomic.Bool // new requests are refused
}

// New builds a Gateway. It starts nothing and connects to nothing.
func New(config Config, deps Deps) *Gateway {
	g := &Gateway{
		config: config, deps: deps, names: newHeaderNames(config.HeaderPrefix), budget: newBudget(config.BodyBudget),
		strikes: limit.NewStrikes(brokenRate, brokenBurst, deps.Now), reading: make(chan struct{}, 1),
		lease: config.HeaderTimeout + config.IdleTimeout + time.Minute, slowStart: slowStart, lingerTime: lingerTime,
	}
	g.SetTeams(deps.Teams)
	g.SetUpstreamKey(deps.UpstreamKey)
	g.upstream = newTransport(g, g.upstreamConfig())
	g.proxy = newProxy(g)
	g.tasks = tasks.New(g.tasksConfig(), g.tasksDeps())
	g.routes = newRoutes(config.UpstreamURL, g.table())
	g.poll = g.routes.exact["tasks/{id}"]
	return g
}

// table is the whole public surface; what is not in it is 404. Each chain names its handler first and then the stages
// before it, in running order.
func (g *Gateway) table() []route {
	generate := chain(g.forward, g.authenticate, g.declared, g.throttle, g.inspect, g.once, g.admit)
	poll := chain(g.recall, g.authenticate)
	cancel := chain(g.cancel, g.authenticate)
	list := chain(g.list, g.authenticate)
	usage := chain(g.usage, g.authenticate)

	table := []route{
		{method: post, path: "services/aigc/text-generation/generation", endpoint: policy.EndpointText, run: generate},
		{method: post, path: "services/aigc/multimodal-generation/generation", endpoint: policy.EndpointMultimodal, run: generate},
		{method: post, path: "services/aigc/image-generation/generation", endpoint: policy.EndpointImage, creates: true, run: generate},
		{method: post, path: "services/aigc/text2image/image-synthesis", endpoint: policy.EndpointImage, creates: true, older: true, run: generate},
		{method: post, path: "services/aigc/image2image/image-synthesis", endpoint: policy.EndpointImage, creates: true, older: true, run: generate},
		{method: get, path: "tasks", endpoint: policy.EndpointTasks, run: list},
		{method: get, path: "tasks/{id}", endpoint: policy.EndpointTasks, run: poll},
		{method: post, path: "tasks/{id}/cancel", endpoint: policy.EndpointTasks, run: cancel},
		{method: get, path: usagePath, run: usage},
	}
	for _, prefix := range g.config.ForwardPaths {
		table = append(table, route{path: prefix, prefix: true, endpoint: policy.EndpointOther, run: generate})
	}
	return table
}

// handler answers one request or says why it is refused. observe writes the error; nobody else does.
type handler func(w *reply, r *http.Request, c *call) error

// stage is a step before a handler. It calls next, or returns an error and the request ends there.
type stage func(next handler) handler

// chain puts the stages, listed in running order, before the handler.
func chain(last handler, stages ...stage) handler {
	for i := len(stages) - 1; i >= 0; i-- {
		last = stages[i](last)
	}
	return last
}

// SetTeams replaces the teams for every request that has not been authenticated yet.
func (g *Gateway) SetTeams(file *teams.File) {
	g.teams.Store(file)
	g.memos.forgetAll()
}

// Currency is the word for money of the teams in force; may be empty.
func (g *Gateway) Currency() string { return g.teams.Load().Currency }

// SetUpstreamKey replaces the service's key for every request that has not been sent yet.
func (g *Gateway) SetUpstreamKey(key Secret) {
	g.upstreamKey.Store(upstream.NewCredential(key, g.config.UpstreamURL, g.upstreamKey.Load()))
}

// BeginDrain makes every answer from now on end its connection, so that clients move to another replica while this
// one still serves.
func (g *Gateway) BeginDrain() { g.draining.Store(true) }

// BeginStop refuses every request from now on with 503 serve/stopping; those that run go on.
func (g *Gateway) BeginStop() { g.stopping.Store(true) }

// Close frees the idle connections to upstream. Requests that run are not touched.
func (g *Gateway) Close() { g.upstream.client.Close() }
