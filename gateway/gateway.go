// Package gateway is Sluice's public side: the routes, the stages a request passes, and the way to the service.
//
// It joins the other packages: policy judges requests, policy/limit admits and charges them, cache and gateway/tasks know
// tasks, gateway/upstream exchanges bytes with the service, and telemetry reads what an answer used. It decides none of that
// itself, and reads no environment, no file and no Redis. Read gateway.go first.
//
// It promises that accepted bodies and successful answers pass byte for byte; that no request is sent again once a byte of it
// has left; that the service's key goes to the service alone; that a team never sees another team's tasks; and that every
// request ends, is recorded once, and is answered in the service's own form.
package gateway

import (
	"slices"

	"sluice/gateway/tasks"
	"sluice/policy"
)

// Gateway is the public listener's handler. Create it with [New]; it is safe for concurrent use.
type Gateway struct {
	config Config
	deps   Deps
	live   *live
	alarms *alarms
	terms  *clientTerms
	routes *routes

	// The stages and handlers, in the order of the table.
	inspection  *inspection
	throttle    *throttle
	idempotency *idempotency
	admission   *admission
	forward     *forward
	polls       *polls
	usage       *usage
	fronts      *fronts

	tasks   *tasks.Tasks
	service *service
}

// table is the whole public surface; any other path is 404. Each chain names its handler first and then the stages before it,
// in running order.
func (g *Gateway) table() []route {
	authenticate := authenticate(g.live, g.deps.Identities, g.deps.KeyAccepted, g.alarms)
	generate := chain(g.forward.forward,
		authenticate, g.inspection.declared, g.throttle.throttle, g.inspection.inspect, g.idempotency.runOnce, g.admission.admit)
	recall := chain(g.polls.recall, authenticate)
	cancel := chain(g.polls.cancel, authenticate)
	list := chain(g.polls.list, authenticate)
	usage := chain(g.usage.usage, authenticate)

	table := []route{
		{method: post, path: "services/aigc/text-generation/generation", endpoint: policy.EndpointText, run: generate},
		{method: post, path: "services/aigc/multimodal-generation/generation", endpoint: policy.EndpointMultimodal, run: generate},
		{method: post, path: "services/aigc/image-generation/generation", endpoint: policy.EndpointImage, creates: true, run: generate},
		{method: post, path: "services/aigc/text2image/image-synthesis", endpoint: policy.EndpointImage, creates: true, older: true, run: generate},
		{method: post, path: "services/aigc/image2image/image-synthesis", endpoint: policy.EndpointImage, creates: true, older: true, run: generate},
		{method: get, path: "tasks", endpoint: policy.EndpointTasks, run: list},
		{method: get, path: "tasks/{id}", endpoint: policy.EndpointTasks, query: true, run: recall},
		{method: post, path: "tasks/{id}/cancel", endpoint: policy.EndpointTasks, run: cancel},
		{method: get, path: usagePath, run: usage},
	}
	if g.config.OpenAI {
		table = append(table, g.frontTable(authenticate)...)
	}
	for _, prefix := range g.config.ForwardPaths {
		table = append(table, route{path: prefix, prefix: true, endpoint: policy.EndpointOther, run: generate})
	}
	return table
}

// frontTable has the routes of OpenAI's interface. The stage translate makes a request of the service of the client's; from then
// on it is a request like any other.
func (g *Gateway) frontTable(authenticate stage) []route {
	generate := func(kind frontRequest, more ...stage) handler {
		first := []stage{authenticate, g.inspection.declared, g.throttle.throttle}
		if kind.digest != nil {
			first = append(first, g.noteUnheld(kind))
		}
		first = append(first, g.fronts.translate(kind))
		last := []stage{g.inspection.inspect, g.throttle.early, g.idempotency.runOnce, g.throttle.late, g.admission.admit}
		return chain(g.forward.forward, slices.Concat(first, more, last)...)
	}
	models := chain(g.fronts.listModels, authenticate)
	task := chain(g.fronts.showTask, authenticate)
	model := chain(g.fronts.showModel, authenticate)

	return []route{
		{method: post, path: frontPrefix + "chat/completions", run: generate(frontChat)},
		{method: post, path: frontPrefix + "images/generations", repeats: true, run: generate(frontMake, g.idempotency.givenUp, g.fronts.pictures)},
		{method: post, path: frontPrefix + "images/edits", form: true, repeats: true, run: generate(frontEdit, g.idempotency.givenUp, g.fronts.pictures)},
		{method: get, path: frontTasks + "{id}", endpoint: policy.EndpointTasks, query: true, run: task},
		{method: get, path: frontModels, run: models},
		{method: get, path: frontModels + "/{id}", run: model},
	}
}
