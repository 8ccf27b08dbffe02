package teams

import (
	"encoding/json"
	"maps"
	"slices"

	"sluice/policy"
)

// KeyLimits are limits of one key. A request is charged in them and in its team's, or in none, so a limit beyond the team's has no
// effect. The zero KeyLimits limit nothing.
type KeyLimits struct {
	// Models are the patterns of the models that the key may use, of those that its team may use. Nil: all.
	Models []policy.Pattern
	// Rates are the key's rates, ordered as a team's. Nil: none.
	Rates []Rate
	// Quotas are the key's quotas, ordered as a team's. Nil: none.
	Quotas []Quota
	// Concurrent is how many requests with the key may be in flight, over all replicas. 0: any number.
	Concurrent int
}

// KeyMembers are a key's limits as JSON, in the form of the teams file. In a change, nil leaves a member as it is, and null removes it.
type KeyMembers struct {
	Concurrent json.RawMessage `json:"concurrent,omitzero"`
	Models     json.RawMessage `json:"models,omitzero"`
	Quotas     json.RawMessage `json:"quotas,omitzero"`
	Rates      json.RawMessage `json:"rates,omitzero"`
}

// named are the members by their names.
func (m *KeyMembers) named() map[string]*json.RawMessage {
	return map[string]*json.RawMessage{"concurrent": &m.Concurrent, "models": &m.Models, "quotas": &m.Quotas, "rates": &m.Rates}
}

// IsKeyMember reports whether a key may have this member of a team, too.
func IsKeyMember(name string) bool {
	_, known := new(KeyMembers).named()[name]
	return known
}

// ByName are the members that are not nil.
func (m KeyMembers) ByName() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for name, value := range m.named() {
		if *value != nil {
			all[name] = *value
		}
	}
	return all
}

// changeable are the fields of a key's limits in a change, which may be null.
func (l *KeyLimits) changeable() []field {
	fields := l.limits()
	for i, f := range fields {
		fields[i].read = func(n node) {
			if !n.isNull() {
				f.read(n)
			}
		}
	}
	return fields
}

// limits are the fields of a key's limits.
func (l *KeyLimits) limits() []field {
	return []field{
		may("models", some(&l.Models, "model patterns", modelPattern)),
		may("rates", group(rateFields(&l.Rates)...)),
		may("quotas", group(quotaFields(&l.Quotas)...)),
		may("concurrent", oneOrNone(&l.Concurrent, whole(1, maxCount))),
	}
}

// limitsOver are a key's limits as its owner wrote them, over those that it had: null removes one. The strict reader accepted them.
func limitsOver(before map[string]json.RawMessage, n node) map[string]json.RawMessage {
	members := maps.Clone(before)
	n.pairs("", func(name string, _, value node) {
		switch {
		case !IsKeyMember(name):
		case value.isNull():
			delete(members, name)
		default:
			if members == nil {
				members = map[string]json.RawMessage{}
			}
			members[name] = appendJSON(nil, value.ast)
		}
	})
	return members
}

// perSecond is how much a rate refills in a second.
func (r Rate) perSecond() float64 { return float64(r.Limit) / r.Per.Seconds() }

// MayUseModel reports whether the key may use a model that its team may use.
func (l *KeyLimits) MayUseModel(model string) bool {
	return l.Models == nil || policy.MatchAny(l.Models, model)
}

// Spends reports whether the key has a quota of money.
func (l *KeyLimits) Spends() bool {
	return slices.ContainsFunc(l.Quotas, func(q Quota) bool { return q.Unit == UnitSpend })
}

// counts reports whether the key has rates or quotas.
func (l *KeyLimits) counts() bool { return len(l.Rates)+len(l.Quotas) > 0 }
