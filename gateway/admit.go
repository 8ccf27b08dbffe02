package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/tasks"
	"sluice/gateway/wire"
	"sluice/policy/limit"
)

// unknownLease is how long the hold of a request with an unknown outcome stands before it is charged as estimated.
const unknownLease = time.Hour

// admission holds what a request may cost, and settles it.
type admission struct {
	deps     *Deps
	live     *live
	refusals *recentRefusals
	tasks    *tasks.Tasks
	claims   *claims
	lease    time.Duration // of a request's hold
}

// admit holds what the request may cost before anything is sent, and settles it once the answer has ended in any way.
func (a *admission) admit(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		var err error
		if s.stream {
			err = a.holdApart(w, r, s)
		} else {
			err = a.hold(w, r, s)
		}
		if err != nil {
			return err
		}
		defer a.settle(r.Context(), s)
		return next(w, r, s)
	}
}

// holdApart is for streams: Redis needs much stack, and a stream would keep it.
func (a *admission) holdApart(w *reply, r *http.Request, s *requestState) (err error) {
	wire.Apart(func() { err = a.hold(w, r, s) })
	return err
}

func (a *admission) hold(w *reply, r *http.Request, s *requestState) error {
	hold := &limit.Hold{
		ID: s.ID, Team: s.team, Outside: limit.AccountFor(s.teams.Account, s.Model), Model: s.Model, Endpoint: s.route.endpoint, Tag: s.tag,
		Amounts: s.size, Task: s.creates, Lease: a.lease,
	}
	verdict, err := a.deps.Accounts.Admit(r.Context(), hold)
	if err != nil {
		return refuse(refuseState).say("The limits of team %s cannot be read at the moment; send the request again.", s.Team).because(err).retry(time.Second)
	}
	rateLimitHeaders(w.Header(), &s.values, &verdict)
	if verdict.Held == nil {
		refused := refuseLimit(&verdict, hold).keepHeaders()
		now := a.deps.Now()
		a.refusals.remember(s.Team, &verdict, recentRefusal{
			refusal: refused, header: w.Header(), until: now.Add(min(verdict.Wait, recentFor)), fits: now.Add(verdict.Wait),
		})
		return refused
	}
	if verdict.Reason != limit.ReasonNone {
		w.Header().Add("Sluice-Shadow", "admit/"+string(verdict.Reason))
	}
	if n := s.size[limit.Images]; n > 0 {
		w.Header().Set("Sluice-Held", fmt.Sprintf("images=%d", n))
	}
	s.held, s.Held = verdict.Held, tasks.Cost(s.size, "")
	return nil
}

// refuseLimit says which limit refuses the request, how much of it is left, and when the request would fit.
func refuseLimit(v *limit.Verdict, h *limit.Hold) *refusal {
	name, team := v.Fault.Name(), h.Team.ID
	switch v.Reason {
	case limit.ReasonNever:
		return refuse(refuseNever).say("The request asks for %s and can never fit: team %s is allowed %s of %s per %s%s.",
			limit.Written(v.Fault.Unit, v.Asked), team, limit.Written(v.Fault.Unit, v.Fault.Limit), v.Fault.Unit, v.Fault.Per, forTag(v, h))
	case limit.ReasonTasks:
		fits := "the next fits when one of them ends"
		if v.Aside.Amount > 0 {
			fits = fmt.Sprintf("%d more %s", v.Aside.Amount, setAside(v))
		}
		return refuse(refuseTasks).say("Team %s has %d open tasks and may have %d; %s.", team, v.Fault.Used, v.Fault.Limit, fits).retry(v.Wait)
	case limit.ReasonAccount:
		return refuse(refuseAccount).say("The service's account, which all teams share, is at its rate of %d %s per %s; this request fits in %s.",
			v.Fault.Limit, v.Fault.Unit, v.Fault.Per, shown(v.Wait)).retry(v.Wait)
	case limit.ReasonQuota:
		return refuse(refuseQuota).say("Team %s has %s left of its quota %s of %s%s, and this request may cost %s; %s.", team,
			limit.Written(v.Fault.Unit, v.Fault.Left), name, limit.Written(v.Fault.Unit, v.Fault.Limit), forTag(v, h), limit.Written(v.Fault.Unit, v.Asked), resets(v)).retry(v.Wait)
	}
	return refuse(refuseRate).say("Team %s has %d %s left of its rate of %d per %s, and this request takes %d; it fits in %s.", team,
		v.Fault.Left, v.Fault.Unit, v.Fault.Limit, v.Fault.Per, v.Asked, shown(v.Wait)).retry(v.Wait)
}

// forTag says for which value of the tag a quota is; empty: it is the team's.
func forTag(v *limit.Verdict, h *limit.Hold) string {
	switch key, value := h.Team.TagKey, v.Fault.Tag.Value(); {
	case v.Fault.Tag == "":
		return ""
	case value == "":
		return " for requests without " + key
	case value != h.Tag:
		return fmt.Sprintf(" for %s %s and all others beyond the day's first 1,000", key, h.Tag)
	default:
		return " for " + key + " " + value
	}
}

// resets says what stands in the way of a request, and for how long.
func resets(v *limit.Verdict) string {
	switch {
	case v.Aside.Amount > 0:
		return limit.Written(v.Fault.Unit, v.Aside.Amount) + " " + setAside(v)
	case v.Wait >= v.Fault.Reset:
		return "it resets in " + shown(v.Wait)
	case v.Asked <= v.Fault.Left:
		return "what is left is set aside for other replicas, which may give it back in " + shown(v.Wait)
	}
	return "running requests hold the rest, which may be free in " + shown(v.Wait)
}

// setAside says until when something is set aside for a replica that is not heard from, and when the request fits if that is sooner.
func setAside(v *limit.Verdict) string {
	text := "are set aside for a replica that is not heard from, until it is back or for " + shown(v.Aside.Back)
	if v.Wait < v.Aside.Back {
		text += "; running requests may make room in " + shown(v.Wait)
	}
	return text
}

func shown(d time.Duration) string { return max(d.Round(time.Millisecond), time.Millisecond).String() }

// rateLimitHeaders writes RateLimit-Policy and RateLimit for every limit that the request is charged in: the limit and its
// window, what is left after this hold, and the seconds until it is full or resets. The syntax is that of an IETF draft; only
// this file knows it.
func rateLimitHeaders(h http.Header, room *values, v *limit.Verdict) {
	if len(v.Limits) == 0 {
		return
	}
	b := make([]byte, 0, 512) // room for both, on the stack: every request of a limited team has them
	for i := range v.Limits {
		s := &v.Limits[i]
		b = strconv.AppendInt(append(appendName(b, i, s), ";q="...), min(s.Limit, largestField), 10)
		b = strconv.AppendInt(append(b, ";w="...), int64(s.Window/time.Second), 10)
	}
	half := len(b)
	for i := range v.Limits {
		s := &v.Limits[i]
		b = strconv.AppendInt(append(appendName(b, i, s), ";r="...), min(s.Left, largestField), 10)
		b = strconv.AppendInt(append(b, ";t="...), int64((s.Reset+time.Second-1)/time.Second), 10)
	}
	text := string(b)
	h["Ratelimit-Policy"], h["Ratelimit"] = room.one(text[:half]), room.one(text[half:])
}

// largestField is the largest integer of a structured field. Amounts of money are in 10⁻⁹ of the currency, and may be larger.
const largestField = 999_999_999_999_999

func appendName(b []byte, i int, s *limit.Standing) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	b = append(append(b, '"'), s.Unit...)
	if s.Period != "" {
		b = append(append(b, '-'), s.Period...)
	}
	if s.Tag != "" {
		b = append(b, "-tag"...)
	}
	return append(b, '"')
}
