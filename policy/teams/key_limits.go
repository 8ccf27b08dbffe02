package teams

import (
	"encoding/json"
	"maps"
	"slices"

	"sluice/policy"
	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// KeyLimits are limits of one key. A request is charged in them and in its team's, or in neither, so a limit beyond
// the team's has no effect. The zero KeyLimits limit nothing.
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

// KeyMembers are a key's limits as JSON, in the form of the teams file. As a change they are a merge patch (RFC 7396):
// members that are not named stay, at any depth, and null removes.
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

// IsKeyMember reports whether a key, too, may have this member of a team.
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

// over returns a key's members after a change. No member is null or an empty object, at any depth; nil: none is left.
func (m KeyMembers) over(before map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	maps.Copy(all, before)
	for name, change := range m.ByName() {
		by, err := treeOf(change)
		if err != nil {
			return nil, noJSON(name)
		}
		was, _ := treeOf(all[name]) // nil: it had none
		if merged := patched(was, by); merged != nil {
			all[name] = strictyaml.Encode(merged)
		} else {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		all = nil
	}
	return all, nil
}

// patched is a value after a change according to RFC 7396, without objects that became empty. Nil: nothing is left.
func patched(value, change any) any {
	members, ok := change.(map[string]any)
	if !ok {
		return change
	}
	before, _ := value.(map[string]any)
	merged := map[string]any{}
	maps.Copy(merged, before)
	for name, by := range members {
		if merged[name] = patched(merged[name], by); merged[name] == nil {
			delete(merged, name)
		}
	}
	if len(merged) == 0 {
		return nil
	}
	return merged
}

// same reports whether the members equal those of a key.
func (m KeyMembers) same(k Key) bool {
	given, err := m.over(nil)
	return err == nil && maps.EqualFunc(given, k.Members, func(a, b json.RawMessage) bool { return string(a) == string(b) })
}

// limits are the fields of a key's limits.
func (l *KeyLimits) limits() []strictyaml.Field {
	return []strictyaml.Field{
		strictyaml.May("models", strictyaml.Some(&l.Models, "model patterns", modelPattern)),
		strictyaml.May("rates", strictyaml.Group(rateFields(&l.Rates)...)),
		strictyaml.May("quotas", strictyaml.Group(quotaFields(&l.Quotas)...)),
		strictyaml.May("concurrent", strictyaml.OneOrNone(&l.Concurrent, strictyaml.Whole(1, maxCount))),
	}
}

// keyMembersOf are a key's limits as its owner wrote them, which the strict reader accepted.
func keyMembersOf(n strictyaml.Node) map[string]json.RawMessage {
	var members KeyMembers
	to := members.named()
	n.Pairs("", func(name string, _, value strictyaml.Node) {
		if IsKeyMember(name) {
			*to[name] = value.JSON()
		}
	})
	all, _ := members.over(nil) // it is JSON
	return all
}

// perSecond is how much a rate refills in a second.
func (r Rate) perSecond() float64 { return float64(r.Limit) / r.Per.Seconds() }

// MayUseModel reports whether the key may use a model that its team may use.
func (l *KeyLimits) MayUseModel(model string) bool {
	return l.Models == nil || policy.MatchAny(l.Models, model)
}

// Spends reports whether the key has a quota of money.
func (l *KeyLimits) Spends() bool {
	return slices.ContainsFunc(l.Quotas, func(q Quota) bool { return q.Unit == unit.NameSpend })
}

// counts reports whether the key has rates or quotas.
func (l *KeyLimits) counts() bool { return len(l.Rates)+len(l.Quotas) > 0 }
