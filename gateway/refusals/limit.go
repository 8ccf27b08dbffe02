package refusals

import (
	"sluice/policy/limit"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// LimitOf is the limit by which a verdict refuses, as the request's log line has it; zero: none. m is the unit of the team's money.
func LimitOf(v *limit.Verdict, m unit.Money) telemetry.Limit {
	f := &v.Fault
	l := telemetry.Limit{
		Name: f.Name(), Scope: f.Scope.String(), Of: f.Of, Unit: string(f.Unit), Per: f.Per, Money: m,
		Used: f.Used, Held: f.Held, Left: f.Left, Limit: f.Limit, Asked: v.Asked,
	}
	switch {
	case v.Reason == limit.ReasonNone || v.Reason == limit.ReasonState:
		return telemetry.Limit{}
	case v.Reason == limit.ReasonTasks:
		l.Name, l.Unit, l.Left = "open_tasks", "open_tasks", max(f.Limit-f.Used, 0)
	}
	return l
}

// Slots is the limit of requests in flight that refuses one: that of a team, or of a key at this gateway.
func Slots(scope limit.ScopeKind, of string, most int64) telemetry.Limit {
	return telemetry.Limit{Name: "concurrent", Scope: scope.String(), Of: of, Unit: "concurrent", Used: most, Limit: most, Asked: 1}
}
