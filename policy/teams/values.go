package teams

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"sluice/policy"
)

// text reads a single value as text; wanted says what it should have been.
func (r *reader) text(n node, wanted string) (string, bool) {
	text, ok := scalar(n.ast)
	if !ok {
		r.wrongKind(n, wanted)
	}
	return text, ok
}

// word reads a value that must match the pattern; empty if it does not.
func (r *reader) word(n node, pattern *regexp.Regexp, wanted string) string {
	text, ok := r.text(n, wanted)
	if ok && !pattern.MatchString(text) {
		r.refuse(n, text, wanted)
		return ""
	}
	return text
}

// bare reads a single value without quotes: "20" is a text, and refused if a number is required.
func (r *reader) bare(n node, wanted string) (string, bool) {
	text, ok := r.text(n, wanted)
	if t := n.ast.GetToken().Type; ok && (t == token.SingleQuoteType || t == token.DoubleQuoteType) {
		r.refuse(n, text, wanted+", without quotes")
		return "", false
	}
	return text, ok
}

// flag reads true or false.
func (r *reader) flag(n node) bool {
	const allowed = "true or false"
	text, ok := r.bare(n, allowed)
	if ok && text != "true" && text != "false" {
		r.refuse(n, text, allowed)
	}
	return text == "true"
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// whole reads a whole number from low to high.
func (r *reader) whole(n node, low, high int64) (int64, bool) {
	allowed := fmt.Sprintf("a whole number from %d to %d", low, high)
	text, ok := r.bare(n, allowed)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if !wholeNumber.MatchString(text) || err != nil || number < low || number > high {
		r.refuse(n, text, allowed)
		return 0, false
	}
	return number, true
}

const (
	moneyAllowed  = "an amount from 0 to 9007199.254740991 with at most nine decimals"
	moneyDecimals = 9 // of Nano
)

// money reads an amount of the currency as an integer of 10⁻⁹. Programs write small ones with an exponent, 1.23e-7.
func (r *reader) money(n node) (int64, bool) {
	text, ok := r.bare(n, moneyAllowed)
	if !ok {
		return 0, false
	}
	if nanos, ok := Decimal(text, moneyDecimals); ok && jsonNumber.MatchString(text) && text[0] != '-' {
		return nanos, true
	}
	r.refuse(n, text, moneyAllowed)
	return 0, false
}

const perAllowed = `whole seconds from "1s" to "1h"`

// per reads the window of a rate, in whole seconds because the RateLimit-Policy header has no others.
func (r *reader) per(n node) (time.Duration, string, bool) {
	text, ok := r.text(n, perAllowed)
	if !ok {
		return 0, "", false
	}
	per, err := time.ParseDuration(text)
	if err != nil || per < time.Second || per > time.Hour || per%time.Second != 0 {
		r.refuse(n, text, perAllowed)
		return 0, "", false
	}
	return per, text, true
}

const momentAllowed = "a time such as 2027-06-30T00:00:00Z"

// moment reads a point in time.
func (r *reader) moment(n node) time.Time {
	text, ok := r.text(n, momentAllowed)
	if !ok {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	at = at.UTC()
	if err != nil || at.IsZero() || at.Year() < 1 || at.Year() > 9999 { // RFC 3339 has no other years
		r.refuse(n, text, momentAllowed)
		return time.Time{}
	}
	return at
}

const patternAllowed = `a model's name of 1 to 128 bytes without spaces, * for any run of characters`

// pattern reads a pattern of model names; empty if it is invalid.
func (r *reader) pattern(n node) policy.Pattern {
	text, ok := r.text(n, patternAllowed)
	strange := strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) })
	if ok && (text == "" || len(text) > 128 || strange) {
		r.refuse(n, text, patternAllowed)
		return ""
	}
	return policy.Pattern(text)
}

// patterns reads a list of patterns, at least one.
func (r *reader) patterns(n node) []policy.Pattern {
	var all []policy.Pattern
	r.some(n, "model patterns", func(item node) { all = append(all, r.pattern(item)) })
	return all
}

// some reads a list of at least one element. An empty list would look like an absent one, which means all.
func (r *reader) some(n node, of string, read func(node)) {
	count := 0
	r.items(n, "a list of "+of, func(item node) { count++; read(item) })
	if sequence, ok := n.ast.(*ast.SequenceNode); n.isNull() || ok && len(sequence.Values) == 0 {
		r.fault(n, "got an empty list, allowed: a list of "+of+", or no such line for all")
	}
}

// unique reads a word that must stand in the file only once.
func (r *reader) unique(n node, what string, pattern *regexp.Regexp, wanted string) string {
	word := r.word(n, pattern, wanted)
	if word != "" {
		r.once(n, what, word)
	}
	return word
}

// require notes the fields that have to be given and are not.
func (r *reader) require(n node, given map[string]bool, names ...string) {
	if !n.hasFields() {
		return // noted already
	}
	for _, name := range names {
		if !given[name] {
			r.fault(n, name+" is missing")
		}
	}
}
