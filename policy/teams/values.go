package teams

import (
	"fmt"
	"math/big"
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
func (r *fileReader) text(n fileNode, wanted string) (string, bool) {
	text, ok := scalar(n.ast)
	if !ok {
		r.wrongKind(n, wanted)
	}
	return text, ok
}

// word reads a value that has to fit a pattern; empty where it does not.
func (r *fileReader) word(n fileNode, pattern *regexp.Regexp, wanted string) string {
	text, ok := r.text(n, wanted)
	if ok && !pattern.MatchString(text) {
		r.refuse(n, text, wanted)
		return ""
	}
	return text
}

// bare reads a single value that has no quotes around it: "20" is a text, and says so where a number is wanted.
func (r *fileReader) bare(n fileNode, wanted string) (string, bool) {
	text, ok := r.text(n, wanted)
	if t := n.ast.GetToken().Type; ok && (t == token.SingleQuoteType || t == token.DoubleQuoteType) {
		r.refuse(n, text, wanted+", without quotes")
		return "", false
	}
	return text, ok
}

// flag reads true or false.
func (r *fileReader) flag(n fileNode) bool {
	const allowed = "true or false"
	text, ok := r.bare(n, allowed)
	if ok && text != "true" && text != "false" {
		r.refuse(n, text, allowed)
	}
	return text == "true"
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// whole reads a whole number from low to high.
func (r *fileReader) whole(n fileNode, low, high int64) (int64, bool) {
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

var decimalNumber = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]{1,9})?$`)

const moneyAllowed = "an amount from 0 to 9007199.254740991 with at most nine decimals"

// money reads an amount of the currency as an integer of 10⁻⁹, from the digits themselves: 0.1 has no exact float.
func (r *fileReader) money(n fileNode) (int64, bool) {
	text, ok := r.bare(n, moneyAllowed)
	if !ok {
		return 0, false
	}
	nanos := new(big.Int)
	whole, fraction, _ := strings.Cut(text, ".")
	if len(text) <= 32 && // more digits only cost time
		decimalNumber.MatchString(text) {
		nanos.SetString(whole+fraction+strings.Repeat("0", 9-len(fraction)), 10)
		if nanos.IsInt64() && nanos.Int64() <= MaxAmount {
			return nanos.Int64(), true
		}
	}
	r.refuse(n, text, moneyAllowed)
	return 0, false
}

const perAllowed = `whole seconds from "1s" to "1h"`

// per reads the window of a rate. Its seconds are whole because a RateLimit-Policy header can say no others.
func (r *fileReader) per(n fileNode) (time.Duration, string, bool) {
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
func (r *fileReader) moment(n fileNode) time.Time {
	text, ok := r.text(n, momentAllowed)
	if !ok {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.IsZero() {
		r.refuse(n, text, momentAllowed)
		return time.Time{}
	}
	return at.UTC()
}

const patternAllowed = `a model's name of 1 to 128 bytes without spaces, * for any run of characters`

// pattern reads a pattern of model names; empty where it is none.
func (r *fileReader) pattern(n fileNode) policy.Pattern {
	text, ok := r.text(n, patternAllowed)
	strange := strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) })
	if ok && (text == "" || len(text) > 128 || strange) {
		r.refuse(n, text, patternAllowed)
		return ""
	}
	return policy.Pattern(text)
}

// patterns reads a list of patterns. An empty one is refused: leaving it out means all, so none must not look alike.
func (r *fileReader) patterns(n fileNode) []policy.Pattern {
	var all []policy.Pattern
	r.some(n, "model patterns", func(item fileNode) { all = append(all, r.pattern(item)) })
	return all
}

// some reads a list that has to have an element.
func (r *fileReader) some(n fileNode, of string, read func(fileNode)) {
	count := 0
	r.items(n, "a list of "+of, func(item fileNode) { count++; read(item) })
	if sequence, ok := n.ast.(*ast.SequenceNode); n.isNull() || ok && len(sequence.Values) == 0 {
		r.fault(n, "got an empty list, allowed: a list of "+of+", or no such line for all")
	}
}
