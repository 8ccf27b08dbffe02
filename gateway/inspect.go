package gateway

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// declared refuses a body by what its header says of it: too large, or of a kind that cannot be read. It is the half
// of inspect that needs no body, and stands before throttle in the order of judgement.
func (g *Gateway) declared(next handler) handler {
	return func(w *reply, r *http.Request, c *call) error {
		if r.ContentLength > g.config.MaxBody {
			return refuseTooLarge(g.config.MaxBody)
		}
		judge := readable
		if c.route.endpoint == policy.EndpointOther {
			judge = described
		}
		if err := judge(r.Header); err != nil {
			return err
		}
		return next(w, r, c)
	}
}

// described reports whether the header says once, at most, what a body is that is carried unread: of two values the
// service might read either.
func described(h http.Header) error {
	for _, name := range [...]string{"Content-Type", "Content-Encoding"} {
		if n := len(h[name]); n > 1 {
			return refuse(refuseMedia).say("Send one %s; %d were given.", name, n)
		}
	}
	return nil
}

// readable reports whether the body is JSON in UTF-8, uncompressed, said once.
func readable(h http.Header) error {
	if encoding := h["Content-Encoding"]; len(encoding) > 0 && (len(encoding) > 1 || !strings.EqualFold(encoding[0], "identity")) {
		return refuse(refuseMedia).say("Compressed bodies are not read; send the JSON as it is, without Content-Encoding.")
	}
	types := h["Content-Type"]
	if len(types) == 1 && types[0] == "application/json" { // nearly every request; the full reading allocates
		return nil
	}
	if len(types) != 1 {
		return refuse(refuseMedia).say("Send one Content-Type, application/json; %d were given.", len(types))
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return refuse(refuseMedia).say("The Content-Type must be application/json; %s was given.", brief(types[0]))
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refuse(refuseMedia).say("JSON is UTF-8; the charset %s was given.", brief(charset))
	}
	return nil
}

// inspect reads the body once, in memory, and judges it. A forwarded path's body is carried unread.
func (g *Gateway) inspect(next handler) handler {
	return func(w *reply, r *http.Request, c *call) error {
		if err := g.readBody(w, r, c); err != nil {
			return err
		}
		if c.route.endpoint == policy.EndpointOther {
			c.Kind, c.query = string(policy.KindOther), r.URL.RawQuery
			c.size = limit.Amounts{limit.Requests: 1}
			return next(w, r, c)
		}
		if err := g.judge(w, c); err != nil {
			return err
		}
		return next(w, r, c)
	}
}

func (g *Gateway) judge(w *reply, c *call) error {
	request, err := policy.Read(&g.config.Families, g.asked(c), c.body)
	if err != nil {
		return refuse(refuseBody).say("The body is not one strict JSON object: %s.", err.Error())
	}
	defer request.Release()
	c.Kind, c.Model, c.Label = string(request.Kind), request.Model, c.teams.Label(request.Model)
	if !c.team.MayAsk(request.Model) {
		return refuse(refuseModel).say("Team %s may not ask the model %s.", c.team.ID, brief(request.Model))
	}
	price, priced := c.teams.Price(request.Model)
	if !priced && spends(c.team) {
		return refuse(refuseModel).say("Team %s has a spend quota, and the teams file has no price for the model %s.", c.team.ID, brief(request.Model))
	}
	verdict := policy.Judge(g.config.Rules, c.team.Modes, &request)
	for _, warning := range verdict.Warnings {
		w.Header().Add("Sluice-Warning", warning.Warning())
		g.deps.Metrics.Warning(warning.Rule)
	}
	if len(verdict.Violations) > 0 {
		return refuse(refuseRules).say("%s", violations(verdict.Violations))
	}
	c.price, c.inputTokens, c.guessed, c.stream = price, request.TextLength, request.Guessed, request.Stream
	if c.Span.Recording() {
		c.parameters = parametersOf(&request, c.body)
	}
	c.size = limit.SizeOf(&request, c.team, price)
	return nil
}

// spends reports whether a team's money is counted against a quota.
func spends(t *teams.Team) bool {
	return slices.ContainsFunc(t.Quotas, func(q teams.Quota) bool { return q.Unit == teams.UnitSpend })
}

// violations puts every violation into one message.
func violations(found []policy.Finding) string {
	texts := make([]string, len(found))
	for i := range found {
		texts[i] = found[i].String()
	}
	return strings.Join(texts, "; ")
}
