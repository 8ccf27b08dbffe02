package teams

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxShown is how many bytes of an input a fault may show.
const maxShown = 64

// secretLike finds what may be a secret: a key of Sluice's own form, or a long run of letters and digits. A run that is
// a plain word is not one.
var secretLike = regexp.MustCompile(`slk_[A-Za-z0-9_]*|[A-Za-z0-9+/=_]{20,}`)

var plainWord = regexp.MustCompile(`^[a-z_]*$`)

// masked returns at most maxShown bytes of input, with [hidden] in place of what may be a secret.
func masked(input string) string {
	clean := secretLike.ReplaceAllStringFunc(input, func(run string) string {
		if plainWord.MatchString(run) && !strings.HasPrefix(run, "slk_") {
			return run
		}
		return "[hidden]"
	})
	if len(clean) <= maxShown {
		return clean
	}
	end := maxShown - len("…")
	for !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end] + "…"
}

// shown returns input for a fault, quoted.
func shown(input string) string { return strconv.Quote(masked(input)) }

// named returns input for a field's name or a caret's line: as shown, but a plain word has no quotes.
func named(input string) string {
	clean := masked(input)
	if quoted := strconv.Quote(clean); clean == "" || quoted[1:len(quoted)-1] != clean || strings.ContainsAny(clean, " :") {
		return quoted
	}
	return clean
}

// list renders alternatives: "a, b or c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// orNearest renders the known word that was probably meant, "" if there is none.
func orNearest(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return " (meant " + near + "?)"
	}
	return ""
}
