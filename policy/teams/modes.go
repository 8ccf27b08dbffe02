package teams

import (
	"regexp"
	"slices"
	"strings"

	"sluice/policy"
)

// modeNames are the modes as the operator writes them.
var modeNames = []string{string(policy.ModeRefuse), string(policy.ModeWarn), string(policy.ModeOff)}

// ParseModes reads the modes of a setting, "id=refuse,other=warn". Spaces around an item do not count; empty text sets
// none. Its error, if any, is of type [Faults], without lines, and holds everything that is wrong.
func ParseModes(text string) (policy.Modes, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	modes, ids := policy.Modes{}, policy.RuleIDs()
	var faults Faults
	for item := range strings.SplitSeq(text, ",") {
		id, word, _ := strings.Cut(strings.TrimSpace(item), "=")
		fault := func(text string) { faults = append(faults, Fault{Field: named(worded(id, ids)), Text: text}) }
		if !slices.Contains(ids, id) {
			fault(unknownRule(id, ids))
		} else if _, twice := modes[id]; twice {
			fault("stands twice, allowed: each rule once")
		}
		if !slices.Contains(modeNames, word) {
			fault("got " + shown(worded(word, modeNames)) + ", allowed: " + list(modeNames))
		}
		modes[id] = policy.Mode(word)
	}
	if faults != nil {
		return nil, faults
	}
	return modes, nil
}

var (
	// plainWords is the form of ids and modes.
	plainWords = regexp.MustCompile(`^ *[a-z_.]{0,64} *$`)
	// slips is the form of ordinary typing errors in them.
	slips = regexp.MustCompile(`^ *[A-Za-z0-9_.-]{0,40} *$`)
)

// worded is word if it has the form of an id or mode, or is likely a typing error of a known one: near it, or with the
// same beginning. Any other word may be a secret in the wrong place and is hidden.
func worded(word string, known []string) string {
	plain := plainly(word)
	first, _, dotted := strings.Cut(plain, ".")
	begun := func(id string) bool { return strings.HasPrefix(id, first+".") }
	if plainWords.MatchString(word) || slips.MatchString(word) && (Nearest(plain, known) != "" || dotted && slices.ContainsFunc(known, begun)) {
		return word
	}
	return "[hidden]"
}

// plainly is a word spelled like ids and modes: without capitals, with dots.
func plainly(word string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word)), "-", ".")
}

// unknownRule is the fault of an id that no rule has.
func unknownRule(id string, ids []string) string {
	return "unknown rule" + orNearest(plainly(id), ids) + ", allowed: the ids that sluice check --rules prints"
}

// modes reads modes by rule id.
func (r *fileReader) modes(n node) policy.Modes {
	modes, ids := policy.Modes{}, policy.RuleIDs()
	r.pairs(n, "modes by rule id", func(id string, key, value node) {
		if !slices.Contains(ids, id) {
			r.faults = append(r.faults, faultAt(key, unknownRule(id, ids)).showing(id))
		}
		text, ok := r.text(value, list(modeNames))
		if ok && !slices.Contains(modeNames, text) {
			r.refuse(value, text, list(modeNames))
		}
		modes[id] = policy.Mode(text)
	})
	return modes
}
