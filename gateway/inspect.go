package gateway

import (
	"net/http"
	"strings"

	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// inspection reads a request's body and judges it by the rules.
type inspection struct {
	config  *Config
	headers *headers
	metrics *telemetry.Metrics
	buffers *wire.Buffers
}

// inspect reads the whole body into memory and judges it. The body of a forwarded path is not judged.
func (n *inspection) inspect(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if err := readBody(w, r, s, n.buffers); err != nil {
			return err
		}
		if s.route.endpoint == policy.EndpointOther {
			s.Kind, s.query = string(policy.KindOther), r.URL.RawQuery
			s.size = limit.Amounts{limit.Requests: 1}
			return next(w, r, s)
		}
		if err := n.judge(w, s); err != nil {
			return err
		}
		return next(w, r, s)
	}
}

func (n *inspection) judge(w *reply, s *requestState) error {
	var err error
	request := &s.room.judged
	*request, err = policy.Read(&n.config.Families, n.headers.policyCall(s), s.body)
	if err != nil {
		return refuse(refuseBody).say("The body is not one strict JSON object: %s.", err.Error())
	}
	defer request.Release()
	s.Kind, s.Model, s.Label = string(request.Kind), request.Model, s.teams.Label(request.Model)
	if !s.team.MayUseModel(request.Model) {
		return refuse(refuseModel).say("Team %s may not use the model %s.", s.team.ID, brief(request.Model)).at("model")
	}
	price, priced := s.teams.Price(request.Model)
	if !priced && s.team.Spends() {
		return refuse(refuseModel).say("Team %s has a spend quota, and the teams file has no price for the model %s.", s.team.ID, brief(request.Model)).at("model")
	}
	verdict := policy.Judge(n.config.Rules, s.team.Modes, request)
	for _, warning := range verdict.Warnings {
		w.Header().Add("Sluice-Warning", warning.Warning())
		n.metrics.Warning(warning.Rule)
		s.Broken = append(s.Broken, telemetry.BrokenRule{ID: warning.Rule})
	}
	for i := range verdict.Violations {
		s.Broken = append(s.Broken, telemetry.BrokenRule{ID: verdict.Violations[i].Rule, Refused: true})
	}
	if len(verdict.Violations) > 0 {
		return refuse(refuseRules).say("%s", violations(verdict.Violations)).at(verdict.Violations[0].Field)
	}
	s.price, s.inputTokens, s.guessed, s.stream = price, request.TextLength, request.Guessed, request.Stream
	if s.Span.Recording() {
		s.parameters = spanParameters(request, s.body)
	}
	s.size = limit.SizeOf(request, s.team, price)
	return nil
}

// violations joins all violations in one message.
func violations(found []policy.Finding) string {
	texts := make([]string, len(found))
	for i := range found {
		texts[i] = found[i].String()
	}
	return strings.Join(texts, "; ")
}
