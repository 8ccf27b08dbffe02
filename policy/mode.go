package policy

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Mode is what happens to a request that breaks a rule.
type Mode string

// The modes.
const (
	ModeRefuse Mode = "refuse" // 400, with every violation
	ModeWarn   Mode = "warn"   // let through, told in a Sluice-Warning header and counted
	ModeOff    Mode = "off"    // not looked at
)

// modeWords lists the modes as a fault text names them.
const modeWords = "refuse, warn or off"

// modeList is the modes as words.
var modeList = []string{string(ModeRefuse), string(ModeWarn), string(ModeOff)}

// known reports whether m is one of the three modes.
func (m Mode) known() bool { return m == ModeRefuse || m == ModeWarn || m == ModeOff }

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

// ParseModes reads modes as one setting holds them, "id=refuse,other=warn". Spaces around an item do not count; empty
// text sets none. Its error, if any, is of type [Faults], without lines, and holds everything that is wrong.
func ParseModes(text string) (Modes, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	modes, ids := Modes{}, RuleIDs()
	var faults Faults
	for item := range strings.SplitSeq(text, ",") {
		id, word, _ := strings.Cut(strings.TrimSpace(item), "=")
		mode := Mode(word)
		fault := func(text string) { faults = append(faults, Fault{Field: named(worded(id, ids)), Text: text}) }
		if !slices.Contains(ids, id) {
			fault(unknownRule(id, ids))
		} else if _, twice := modes[id]; twice {
			fault("stands twice, allowed: each rule once")
		}
		if !mode.known() {
			fault("got " + shown(worded(word, modeList)) + ", allowed: " + modeWords)
		}
		modes[id] = mode
	}
	if faults != nil {
		return nil, faults
	}
	return modes, nil
}

var (
	// plainWords is the form of ids and modes.
	plainWords = regexp.MustCompile(`^ *[a-z_.]{0,64} *$`)
	// slips is the form of ordinary slips of them.
	slips = regexp.MustCompile(`^ *[A-Za-z0-9_.-]{0,40} *$`)
)

// worded is an id or a mode where it has the form of one, or is a slip of a known one: near it, or begun like it. Anything
// else may be a secret in the wrong place.
func worded(word string, known []string) string {
	plain := plainly(word)
	first, _, dotted := strings.Cut(plain, ".")
	begun := func(id string) bool { return strings.HasPrefix(id, first+".") }
	if plainWords.MatchString(word) || slips.MatchString(word) && (Nearest(plain, known) != "" || dotted && slices.ContainsFunc(known, begun)) {
		return word
	}
	return "[hidden]"
}

// plainly is a word as ids and modes are written: without capitals, with dots.
func plainly(word string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word)), "-", ".")
}

// unknownRule is the fault of an id that no rule has.
func unknownRule(id string, ids []string) string {
	return "unknown rule" + orNearest(plainly(id), ids) + ", allowed: the ids that sluice check --rules prints"
}
