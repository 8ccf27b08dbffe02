package teams

import (
	"regexp"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/spelling"
)

// modeName is a mode as the operator writes it.
var (
	modeNames = []string{string(policy.ModeRefuse), string(policy.ModeWarn), string(policy.ModeOff)}
	modeName  = choice(policy.ModeRefuse, policy.ModeWarn, policy.ModeOff)
)

// ParseModes reads the modes of a setting, "id=refuse,other=warn". Spaces around an item are ignored; empty text sets none. Its
// error, if any, is of type [Faults], without lines, and holds everything that is wrong.
func ParseModes(text string) (policy.Modes, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	modes, ids := policy.Modes{}, policy.RuleIDs()
	var faults Faults
	for item := range strings.SplitSeq(text, ",") {
		id, word, _ := strings.Cut(strings.TrimSpace(item), "=")
		note := func(f Fault) {
			f.Field = named(worded(id, ids))
			faults = append(faults, f)
		}
		if !slices.Contains(ids, id) {
			note(unknownRule(id, ids))
		} else if _, twice := modes[id]; twice {
			note(Fault{Text: "stands twice", Allowed: "each rule once"})
		}
		if !slices.Contains(modeNames, word) {
			note(Fault{Given: shown(worded(word, modeNames)), Allowed: modeName.allowed})
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
	if plainWords.MatchString(word) || slips.MatchString(word) && (spelling.Nearest(plain, known) != "" || dotted && slices.ContainsFunc(known, begun)) {
		return word
	}
	return "[hidden]"
}

// plainly is a word spelled like ids and modes: without capitals, with dots.
func plainly(word string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word)), "-", ".")
}

// unknownRule is the fault of an id that no rule has.
func unknownRule(id string, ids []string) Fault {
	return Fault{Text: "unknown rule", Advice: meant(plainly(id), ids), Allowed: "the ids that sluice check --rules prints"}
}

// readModes reads modes by rule id.
func readModes(n node) policy.Modes {
	modes, ids := policy.Modes{}, policy.RuleIDs()
	n.pairs("modes by rule id", func(id string, key, value node) {
		if !slices.Contains(ids, id) {
			f := unknownRule(id, ids)
			f.Word = named(id)
			key.fault(f)
		}
		modes[id], _ = read(value, modeName)
	})
	return modes
}
