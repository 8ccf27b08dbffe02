package gateway

import (
	"errors"
	"net/http"
	"strings"

	"sluice/gateway/media"
	"sluice/gateway/refusal"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/forms"
	"sluice/policy/limit"
	"sluice/policy/strictjson"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// declared refuses a body by its declared length and type. It is the half of inspect that needs no body, so it runs before
// throttle.
func (n *inspection) declared(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if r.ContentLength > n.config.MaxBody {
			return refuseTooLarge(n.config.MaxBody)
		}
		judge := media.JSON
		switch {
		case s.route.form:
			judge = media.Form
		case s.route.opaque(), s.route.prefix && !hasBody(r):
			judge = media.Once
		}
		if err := judge(r.Header); err != nil {
			return refusal.New(refusal.Media).Say("%s.", err)
		}
		return next(w, r, s)
	}
}

// inspection reads a request's body and judges it by the rules.
type inspection struct {
	config  *Config
	headers *headers
	metrics *telemetry.Metrics
	buffers *wire.Buffers
}

// inspect reads the whole body into memory and judges it. The body of a forwarded path is not judged; if its form is known, its cost is
// estimated.
func (n *inspection) inspect(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if err := readBody(w, r, s, n.buffers); err != nil {
			return err
		}
		var err error
		if s.route.prefix || s.route.reads.Governed() {
			err = n.govern(r, s)
		} else {
			err = n.judgeFor(w, s)
		}
		if err != nil {
			return err
		}
		return next(w, r, s)
	}
}

// govern reads what a request on a forwarded path may cost, if the form of its body is known. A request without a body names no model: it
// is refused if its team or key may use only some models.
func (n *inspection) govern(r *http.Request, s *requestState) error {
	s.Kind, s.query = string(policy.KindOther), r.URL.RawQuery
	s.size = limit.Amounts{limit.Requests: 1}
	switch {
	case s.route.opaque():
		return nil
	case len(s.body) > 0 || r.Method != http.MethodGet && r.Method != http.MethodDelete:
		q, err := forms.Read(s.route.reads, n.headers.policyCall(s), n.config.Embeddings, s.body)
		if s.Kind = string(q.Kind); err == nil {
			return n.price(s, &q)
		}
		if fault, ok := errors.AsType[*forms.Fault](err); ok {
			row := refusal.Rules
			if s.route.prefix {
				row = refusal.Body
			}
			return refusal.New(row).Say("%s.", fault.Error()).At(fault.Field)
		}
		return refuseLoose(s, err)
	case s.team.Models != nil || s.limits.Models != nil:
		return refusal.New(refusal.Model).Say("Team %s, or its key, may only use some models, and this request names none.",
			s.team.ID).At("model")
	}
	return nil
}

// refuseLoose is the refusal of a body that two parsers could read differently. It names the place only in a body that the client wrote.
func refuseLoose(s *requestState, err error) error {
	text := err.Error()
	if loose, ok := errors.AsType[*strictjson.Error](err); ok && s.Front != "" {
		text = loose.Text()
	}
	return refusal.New(refusal.Body).Say("The body is not one strict JSON object: %s.", text)
}

// price checks that the team may use the request's model, and works out what the request may cost.
func (n *inspection) price(s *requestState, q *policy.Request) error {
	s.Model, s.Label = q.Model, s.teams.Label(q.Model)
	if err := mayUseModel(s, s.team, s.limits); err != nil {
		return err
	}
	s.pricing.Begin(s.teams.Prices, q, s.Time)
	s.size, s.text = limit.Estimate(q, s.team, s.limits, s.pricing.Price)
	if err := refuseUnpriced(s); err != nil {
		return err
	}
	s.inputTokens, s.guessed, s.stream = q.TextLength, q.Guessed, q.Stream
	if s.Span.Recording() {
		s.parameters = spanParameters(q, s.body)
	}
	return nil
}

// judgeFor runs judge, for a request that may wait on another goroutine, so that this one's stack stays small during the wait.
func (n *inspection) judgeFor(w *reply, s *requestState) (err error) {
	if s.patience == 0 {
		return n.judge(w, s)
	}
	wire.Apart(func() { err = n.judge(w, s) })
	return err
}

func (n *inspection) judge(w *reply, s *requestState) error {
	var err error
	request := &s.room.judged
	*request, err = policy.Read(&n.config.Families, n.headers.policyCall(s), s.body)
	if err != nil {
		return refuseLoose(s, err)
	}
	defer request.Release()
	s.Kind = string(request.Kind)
	if err = n.price(s, request); err != nil && request.Model != "" { // an absent model is first the rules' to refuse
		return err
	}
	verdict := policy.Judge(n.config.Rules, s.team.Modes, request)
	for _, warning := range verdict.Warnings {
		w.Header().Add("Sluice-Warning", warning.Warning())
		n.metrics.Warning(warning.Rule)
		s.Broken = append(s.Broken, telemetry.BrokenRule{ID: warning.Rule})
	}
	var violations []string
	for i := range verdict.Violations {
		s.Broken = append(s.Broken, telemetry.BrokenRule{ID: verdict.Violations[i].Rule, Refused: true})
		violations = append(violations, verdict.Violations[i].String())
	}
	if len(violations) > 0 {
		return refusal.New(refusal.Rules).Say("%s", strings.Join(violations, "; ")).At(verdict.Violations[0].Field)
	}
	return err
}

// mayUseModel refuses a model that a team, or a key with these limits, may not use.
func mayUseModel(s *requestState, team *teams.Team, limits *teams.KeyLimits) error {
	switch {
	case s.route.opaque(): // its requests name none
	case !team.MayUseModel(s.Model):
		return refusal.New(refusal.Model).Say("Team %s may not use the model %s.", team.ID, policy.Brief(s.Model)).At("model")
	case !limits.MayUseModel(s.Model):
		return refusal.New(refusal.Model).Say("Key %s may not use the model %s.", s.ledgerKey, policy.Brief(s.Model)).At("model").
			Of(limit.ScopeKey)
	}
	return nil
}

const noPrice = "%s has a spend quota, and the teams file has no %s for the model %s."

// refuseUnpriced refuses a model without a price of what the request holds if a quota counts money. It names the narrowest scope with such
// a quota.
func refuseUnpriced(s *requestState) error {
	missing := s.pricing.Price.Missing(&s.size)
	who, scope := "Team "+s.team.ID, limit.ScopeTeam
	switch {
	case missing == "":
		return nil
	case s.limits.Spends():
		who, scope = "Key "+s.ledgerKey, limit.ScopeKey
	case !s.teams.NeedsPrice(s.team):
		return nil
	case !s.team.Spends():
		who, scope = "The house", limit.ScopeHouse
	}
	return refusal.New(refusal.Model).Say(noPrice, who, missing, policy.Brief(s.Model)).At("model").Of(scope)
}
