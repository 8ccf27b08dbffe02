package strictyaml

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/policy/spelling"
)

// Fault is one thing wrong in an input of the operator. No field contains a secret, or more than 64 bytes of one input.
type Fault struct {
	Line    int    // 1 for the first; 0 if the input has no lines
	Column  int    // in characters, 1 for the first; 0 where unknown
	Field   string // the field, such as "teams[0].rates.tokens.per"; empty if the fault is not in one field
	Word    string // the word at the column, as far as it may be shown; may be empty
	Text    string // what is wrong, such as "unknown field"; empty: Given is not allowed
	Given   string // what was given: a quoted text or words such as "a list"; may be empty
	Allowed string // what is allowed in its place; may be empty
	Advice  string // what was probably meant; may be empty
}

// maxIndent bounds the columns before a line's first word, in a file and in the output of Caret.
const maxIndent = 128

// String renders the fault on one line.
func (f Fault) String() string {
	place := ""
	if f.Line > 0 {
		place = fmt.Sprintf("line %d", f.Line)
		if f.Column > 0 {
			place += fmt.Sprintf(":%d", f.Column)
		}
		place += ": "
	}
	if f.Field != "" {
		place += f.Field + ": "
	}
	return place + f.Detail()
}

// Detail is what was given and what is allowed, without the place.
func (f Fault) Detail() string {
	text := f.Text
	if text == "" {
		text = "got " + f.Given
	}
	if f.Advice != "" {
		text += " (" + f.Advice + ")"
	}
	if f.Allowed != "" {
		text += ", allowed: " + f.Allowed
	}
	return text
}

// Caret draws the faulty word at its column with carets under it, in two lines. It is empty if there is no word to show.
// The rest of the line is not drawn, because it may hold a key.
func (f Fault) Caret() string {
	if f.Word == "" || f.Column < 1 {
		return ""
	}
	indent := strings.Repeat(" ", min(f.Column-1, maxIndent))
	return indent + f.Word + "\n" + indent + strings.Repeat("^", utf8.RuneCountInString(f.Word)) + "\n"
}

// Faults is everything wrong with an input, in the order of its lines.
type Faults []Fault

// Error renders the faults, one per line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// sorted puts the faults in the order of their places.
func (f Faults) sorted() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return f
}

// maxShown is how many bytes of an input a fault may show.
const maxShown = 64

// secretLike finds text that may be a secret: a key of Sluice's own form, or a long run of letters and digits. Words
// of only a–z and _ do not count.
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

// Shown returns input for a fault, quoted.
func Shown(input string) string { return strconv.Quote(masked(input)) }

// Named returns input for a field's name or a caret's line: like Shown, but without quotes around a simple word.
func Named(input string) string {
	clean := masked(input)
	if quoted := strconv.Quote(clean); clean == "" || quoted[1:len(quoted)-1] != clean || strings.ContainsAny(clean, " :") {
		return quoted
	}
	return clean
}

// AnyOf renders alternatives: "a, b or c".
func AnyOf[T ~string](words []T) string {
	text := ""
	for i, word := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			text += " or "
		default:
			text += ", "
		}
		text += string(word)
	}
	return text
}

// Meant is advice with the known word that was probably meant; empty: none.
func Meant(word string, known []string) string {
	if near := spelling.Nearest(word, known); near != "" {
		return "meant " + near + "?"
	}
	return ""
}
