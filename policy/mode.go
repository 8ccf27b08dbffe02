package policy

import "maps"

// Mode is what happens to a request that breaks a rule.
type Mode string

// The modes.
const (
	ModeRefuse Mode = "refuse" // 400, with every violation
	ModeWarn   Mode = "warn"   // let through, told in a Sluice-Warning header and counted
	ModeOff    Mode = "off"    // not looked at
)

// Modes are modes set by the operator, by rule id. A rule that is not in it keeps the mode it had; nil sets none.
type Modes map[string]Mode

// Of returns the mode of the rule with this id, whose own mode, where nothing is set, is own.
func (m Modes) Of(id string, own Mode) Mode {
	if set, ok := m[id]; ok {
		return set
	}
	return own
}

// Override returns m with the modes of over in place of its own: a team's override the gateway's. Neither is changed,
// and where one is empty the result is the other itself, so that the common case copies nothing.
func (m Modes) Override(over Modes) Modes {
	switch {
	case len(over) == 0:
		return m
	case len(m) == 0:
		return over
	}
	merged := maps.Clone(m)
	maps.Copy(merged, over)
	return merged
}
