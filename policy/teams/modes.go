package teams

import (
	"regexp"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/spelling"
	"sluice/policy/strictyaml"
)

// modeName is a mode as the operator writes it.
var (
	modeNames = []string{string(policy.ModeRefuse), string(policy.ModeWarn), string(policy.ModeOff)}
	modeName  = strictyaml.Choice(policy.ModeRefuse, policy.ModeWarn, policy.ModeOff)
)

// ParseModes reads the modes of a setting, "id=refuse,other=warn". Spaces around an item are ignored; empty text sets none. Its
// error, if any, is of type [Faults], without lines, and holds everything that is wrong.
func ParseModes(text string) (policy.Modes, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	modes, ids := policy.Modes{}, policy.RuleIDs()
	var faults strictyaml.Faults
	for item := range strings.SplitSeq(text, ",") {
		id, word, _ := strings.Cut(strings.TrimSpace(item), "=")
		note := func(f strictyaml.Fault) {
			f.Field = strictyaml.Named(worded(id, ids))
			faults = append(faults, f)
		}
		if !slices.Contains(ids, id) {
			note(unknownRule(id, ids))
		} else if _, twice := modes[id]; twice {
			note(strictyaml.Fault{Text: "stands twice", Allowed: "each rule once"})
		}
		if !slices.Contains(modeNames, word) {
			note(strictyaml.Fault{Given: strictyaml.Shown(worded(word, modeNames)), Allowed: modeName.Allowed})
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
	if plainWords.MatchString(word) || slips.MatchString(word) &&
		(spelling.Nearest(plain, known) != "" || dotted && slices.ContainsFunc(known, begun)) {
		return word
	}
	return "[hidden]"
}

// plainly spells a word like ids and modes: in lower case, with dots.
func plainly(word string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word)), "-", ".")
}

// unknownRule is the fault of an id that no rule has.
func unknownRule(id string, ids []string) strictyaml.Fault {
	return strictyaml.Fault{
		Text: "unknown rule", Advice: strictyaml.Meant(plainly(id), ids),
		Allowed: "the ids that sluice check --rules prints",
	}
}

// readModes reads modes by rule id.
func readModes(n strictyaml.Node) policy.Modes {
	modes, ids := policy.Modes{}, policy.RuleIDs()
	n.Pairs("modes by rule id", func(id string, key, value strictyaml.Node) {
		if !slices.Contains(ids, id) {
			f := unknownRule(id, ids)
			f.Word = strictyaml.Named(id)
			key.Fault(f)
		}
		modes[id], _ = strictyaml.Read(value, modeName)
	})
	return modes
}
