package limit

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/policy/unit"
)

// Explain says which limit refuses a hold, how much of it is left, and when the request would fit.
func (v *Verdict) Explain(h *Hold) string {
	team, written := h.Team.ID, func(n int64) string { return h.Team.Money.Written(v.Fault.Unit, n) }
	switch v.Reason {
	case ReasonNever:
		return fmt.Sprintf("The request asks for %s and can never fit: %s is allowed %s of %s %s%s.", written(v.Asked), v.who(h, "team ", "key "),
			written(v.Fault.Limit), v.Fault.Unit, map[bool]string{true: "at once", false: "per " + v.Fault.Per}[v.Fault.Period == ""], v.forTag(h))
	case ReasonTasks:
		fits := "the next fits when one of them ends"
		if v.Aside.Amount > 0 {
			fits = fmt.Sprintf("%d more %s", v.Aside.Amount, v.setAside())
		}
		return fmt.Sprintf("Team %s has %d open %s and may have %d; %s.", team, v.Fault.Used, unit.Noun(v.Fault.Used, "tasks"), v.Fault.Limit,
			fits)
	case ReasonAccount:
		if v.Fault.Period != "" {
			return fmt.Sprintf("%s has %s left of its quota %s of %s%s; %s.", v.account("The", "A"),
				written(v.Fault.Left), v.quotaName(), written(v.Fault.Limit), v.costs(h), v.resets(h))
		}
		shared := ""
		if v.Fault.Of == "" {
			shared = ", which all teams share,"
		}
		return fmt.Sprintf("%s%s is at its rate of %d %s per %s; this request fits in %s.",
			v.account("The", "A"), shared, v.Fault.Limit, unit.Noun(v.Fault.Limit, string(v.Fault.Unit)), v.Fault.Per, WaitText(v.Wait))
	case ReasonHouse:
		return fmt.Sprintf("The house, which is all teams together, has %s left of its quota %s of %s%s; %s.",
			written(v.Fault.Left), v.quotaName(), written(v.Fault.Limit), v.costs(h), v.resets(h))
	case ReasonQuota:
		return fmt.Sprintf("%s has %s left of its quota %s of %s%s%s; %s.", v.who(h, "Team ", "Key "),
			written(v.Fault.Left), v.quotaName(), written(v.Fault.Limit), v.forTag(h), v.costs(h), v.resets(h))
	}
	return fmt.Sprintf("%s has %d %s left of its rate of %d per %s, and this request takes %d; it fits in %s.", v.who(h, "Team ", "Key "),
		v.Fault.Left, unit.Noun(v.Fault.Left, string(v.Fault.Unit)), v.Fault.Limit, v.Fault.Per, v.Asked, WaitText(v.Wait))
}

// who names the team or key whose limit refuses, after the given word for it.
func (v *Verdict) who(h *Hold, team, key string) string {
	switch {
	case v.Fault.Scope == ScopeHouse:
		return "the house"
	case v.Fault.Scope == ScopeAccount:
		return v.account("the", "a")
	case v.Fault.Scope != ScopeKey:
		return team + h.Team.ID
	case v.Fault.Of != h.Key:
		return fmt.Sprintf("%s%s with all others beyond the day's first 1,000", key, h.Key)
	}
	return key + h.Key
}

// account names the account at the service whose limit refuses. a is the first letter of account; it and the are capitals at the start
// of a sentence.
func (v *Verdict) account(the, a string) string {
	if v.Fault.Of == "" {
		return the + " service's account"
	}
	return a + "ccount " + v.Fault.Of + " at the service"
}

// quotaName is the name of the quota that refuses, without its key, which who names.
func (v *Verdict) quotaName() string {
	fault := v.Fault
	if fault.Scope == ScopeKey {
		fault.Scope = ScopeTeam
	}
	return fault.Name()
}

// forTag names the tag value that a quota is for; empty: the quota is the team's.
func (v *Verdict) forTag(h *Hold) string {
	switch key, value := h.Team.TagKey, v.Fault.Of; {
	case v.Fault.Scope != ScopeTag:
		return ""
	case value == "":
		return " for requests without " + key
	case value != h.Tag:
		return fmt.Sprintf(" for %s %s and all others beyond the day's first 1,000", key, h.Tag)
	default:
		return " for " + key + " " + value
	}
}

// costs states the amount that the request asks of a quota; empty: the amount is not stated.
func (v *Verdict) costs(h *Hold) string {
	if v.Asked == 0 {
		return ""
	}
	return ", and this request may cost " + h.Team.Money.Written(v.Fault.Unit, v.Asked)
}

// resets describes what blocks a request, and for how long.
func (v *Verdict) resets(h *Hold) string {
	switch {
	case v.Aside.Amount > 0:
		return h.Team.Money.Written(v.Fault.Unit, v.Aside.Amount) + " " + v.setAside()
	case v.Wait >= v.Fault.Reset:
		return "it resets in " + WaitText(v.Wait)
	case v.Asked <= v.Fault.Left && v.Asked > 0:
		return "what is left is set aside for other replicas, which may give it back in " + WaitText(v.Wait)
	}
	return "running requests hold the rest, which may be free in " + WaitText(v.Wait)
}

// setAside describes until when an amount is set aside for a lost replica, and when the request fits if that is sooner.
func (v *Verdict) setAside() string {
	text := "are set aside for a replica that is not heard from, until it is back or for " + WaitText(v.Aside.Back)
	if v.Wait < v.Aside.Back {
		text += "; running requests may make room in " + WaitText(v.Wait)
	}
	return text
}

// WaitText formats a duration for messages, at least 1ms.
func WaitText(d time.Duration) string {
	return max(d.Round(time.Millisecond), time.Millisecond).String()
}

// Fields are the values of RateLimit-Policy and RateLimit for every limit that the request is charged in: the limit and its window,
// what is left after this hold, and the seconds until it is full or resets. The syntax is that of an IETF draft; only this file knows
// it. They are empty without limits.
func (v *Verdict) Fields() (policy, left string) {
	if len(v.Limits) == 0 {
		return "", ""
	}
	b := make([]byte, 0, 512) // on the stack: every request of a limited team has this field
	for i := range v.Limits {
		s := &v.Limits[i]
		b = strconv.AppendInt(append(appendName(b, i, s), ";r="...), min(s.Left, largestField), 10)
		b = strconv.AppendInt(append(b, ";t="...), int64((s.Reset+time.Second-1)/time.Second), 10)
	}
	return policyText(v), string(b)
}

// policies keeps values of RateLimit-Policy, which are the same until a limit changes, by the units that requests are charged in.
type policies [1 << unit.Count]atomic.Pointer[policyField]

type policyField struct {
	of   []Standing
	text string
}

// is reports whether the value is that of these limits.
func (p *policyField) is(limits []Standing) bool {
	if p == nil || len(p.of) != len(limits) {
		return false
	}
	for i := range limits {
		if a, b := &p.of[i], &limits[i]; a.Unit != b.Unit || a.Period != b.Period || a.Scope != b.Scope || a.Limit != b.Limit ||
			a.Window != b.Window {
			return false
		}
	}
	return true
}

// policyText is the value of RateLimit-Policy.
func policyText(v *Verdict) string {
	if v.kept == nil {
		return policyOf(v.Limits)
	}
	kept := v.kept.Load()
	if !kept.is(v.Limits) {
		kept = &policyField{slices.Clone(v.Limits), policyOf(v.Limits)}
		v.kept.Store(kept)
	}
	return kept.text
}

func policyOf(limits []Standing) string {
	var b []byte
	for i := range limits {
		s := &limits[i]
		b = strconv.AppendInt(append(appendName(b, i, s), ";q="...), min(s.Limit, largestField), 10)
		b = strconv.AppendInt(append(b, ";w="...), int64(s.Window/time.Second), 10)
	}
	return string(b)
}

// largestField is the largest integer of a structured field. Amounts of money are in parts of the currency, and may be larger.
const largestField = 999_999_999_999_999

func appendName(b []byte, i int, s *Standing) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	return append(s.appendName(append(b, '"')), '"')
}
