package policy

import "maps"

// Mode determines the fate of a request that breaks a rule.
type Mode string

// The modes.
const (
	ModeRefuse Mode = "refuse" // 400, with every violation
	ModeWarn   Mode = "warn"   // let through, told in a Sluice-Warning header and counted
	ModeOff    Mode = "off"    // not looked at
)

// Modes are the modes that the operator sets, by rule id. Other rules keep theirs; nil sets none.
type Modes map[string]Mode

// Of returns the mode of the rule with this id, own if none is set.
func (m Modes) Of(id string, own Mode) Mode {
	if set, ok := m[id]; ok {
		return set
	}
	return own
}

// Override returns m with the modes of over taking precedence. Neither is changed.
func (m Modes) Override(over Modes) Modes {
	if len(m) == 0 {
		return over
	}
	merged := maps.Clone(m)
	maps.Copy(merged, over)
	return merged
}
