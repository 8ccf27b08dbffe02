package teams

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/unit"
)

// form is what a single value must be.
type form[T any] struct {
	allowed string
	parse   func(text string) (T, bool)
	bare    bool // without quotes: "20" is a text where a number is required
}

// word is a text that passes a check.
func word[T ~string](allowed string, check func(string) bool) form[T] {
	return form[T]{allowed: allowed, parse: func(text string) (T, bool) { return T(text), check(text) }}
}

// spelled is a text that matches a pattern.
func spelled(pattern, allowed string) form[string] {
	return word[string](allowed, regexp.MustCompile(pattern).MatchString)
}

// choice is one of some words.
func choice[T ~string](words ...T) form[T] {
	return word[T](anyOf(words), func(text string) bool { return slices.Contains(words, T(text)) })
}

// Nano is how many parts the currency has unless the teams file has other currency_digits: 1.50 is 1,500,000,000.
const Nano = 1_000_000_000

// MaxAmount is the largest amount of any unit, 2⁵³ − 1: the state keeps numbers that are exact only up to there.
const MaxAmount = unit.Most

// jsonNumber is a number that YAML and JSON write alike.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// whole is a whole number from low to high.
func whole[T int | int64](low, high T) form[T] {
	return form[T]{fmt.Sprintf("a whole number from %d to %d", low, high), func(text string) (T, bool) {
		number, err := strconv.ParseInt(text, 10, 64)
		return T(number), wholeNumber.MatchString(text) && err == nil && number >= int64(low) && number <= int64(high)
	}, true}
}

var (
	flag = form[bool]{"true or false", func(text string) (bool, bool) { return text == "true", text == "true" || text == "false" }, true}

	// window is of a rate, in whole seconds because the RateLimit-Policy header has no others.
	window = form[time.Duration]{allowed: `whole seconds from "1s" to "1h"`, parse: func(text string) (time.Duration, bool) {
		per, err := time.ParseDuration(text)
		return per, err == nil && per >= time.Second && per <= time.Hour && per%time.Second == 0
	}}

	// moment is a point in time that RFC 3339 can write in UTC. Go's zero time would mean never.
	moment = form[time.Time]{allowed: "a time such as 2027-06-30T00:00:00Z", parse: func(text string) (time.Time, bool) {
		at, err := time.Parse(time.RFC3339, text)
		at = at.UTC()
		return at, err == nil && !at.IsZero() && at.Year() >= 1 && at.Year() <= 9999
	}}

	modelName = word[string]("a model's name of 1 to 128 bytes without spaces and *", func(text string) bool {
		return isPattern(text) && !strings.Contains(text, "*")
	})
	modelPattern = word[policy.Pattern]("a model's name of 1 to 128 bytes without spaces, * for any run of characters", isPattern)

	prose = word[string](fmt.Sprintf("one line of at most %d characters, without control characters", MaxProse), IsProse)

	member = word[string]("a group or an e-mail: one line of 1 to 200 characters, without spaces at its ends", func(text string) bool {
		return text != "" && IsProse(text) && strings.TrimSpace(text) == text
	})

	tagName = word[string]("the name of a tag, 1 to 62 of a–z, 0–9, dot, underscore and hyphen, or none", policy.IsTagName)

	issuerURL = word[string]("an address such as https://login.example/realm, without user, query and fragment (http on this machine alone)", IsIssuerURL)

	claimValue = word[string](fmt.Sprintf("1 to %d bytes without control characters", maxClaimValue), func(text string) bool {
		return text != "" && len(text) <= maxClaimValue && !controls.MatchString(text)
	})
)

// money is an amount of the currency as an integer of the document's parts. Programs write small ones with an exponent, 1.23e-7.
func (r *reader) money() form[int64] {
	most := r.counts.Written(UnitSpend, MaxAmount)
	allowed := fmt.Sprintf("an amount from 0 to %s with at most %s decimals", most, map[unit.Money]string{unit.Nanos: "nine", unit.Micros: "six"}[r.counts])
	return form[int64]{allowed, func(text string) (n int64, ok bool) {
		n, ok = r.counts.Read(UnitSpend, text)
		if !ok && r.anyMoney {
			n, ok = unit.Micros.Read(UnitSpend, text)
		}
		return n, ok && jsonNumber.MatchString(text) && text[0] != '-'
	}, true}
}

// read reads a single value of a form. The value of a faulty one is zero.
func read[T any](n node, f form[T]) (value T, ok bool) {
	var zero T
	text, ok := scalar(n.ast)
	switch {
	case !ok:
		n.wrongKind(f.allowed)
		return zero, false
	case f.bare && isQuoted(n.ast):
		n.refuse(text, f.allowed+", without quotes")
		return zero, false
	}
	if value, ok = f.parse(text); !ok {
		n.refuse(text, f.allowed)
		return zero, false
	}
	return value, true
}

// one returns what reads a single value of a form into a variable.
func one[T any](to *T, f form[T]) func(node) {
	return func(n node) { *to, _ = read(n, f) }
}

// unique returns what reads a word that may occur in the file only once.
func unique(to *string, what string, f form[string]) func(node) {
	return func(n node) {
		var ok bool
		if *to, ok = read(n, f); ok {
			n.once(what, *to)
		}
	}
}

// isNone reports whether the value is the word that removes a limit of the defaults from a team.
func (n node) isNone() bool {
	text, ok := scalar(n.ast)
	return ok && text == "none"
}

// oneOrNone returns what reads a single value of a form, or the word none for the zero value.
func oneOrNone[T any](to *T, f form[T]) func(node) {
	return func(n node) {
		var zero T
		if *to = zero; !n.isNone() {
			*to, _ = read(n, f)
		}
	}
}

// list reads values of a form. With once, a repeated value is refused: once is what is allowed instead.
func list[T comparable](n node, of string, f form[T], once string) (all []T) {
	n.items("a list of "+of, func(item node) {
		value, ok := read(item, f)
		if ok && once != "" && slices.Contains(all, value) {
			item.refuse(fmt.Sprint(value), once)
		}
		all = append(all, value)
	})
	return all
}

// some returns what reads a list of at least one value. An empty list would look like an absent one, which means all.
func some[T comparable](to *[]T, of string, f form[T]) func(node) {
	return func(n node) {
		if *to = list(n, of, f, ""); len(*to) == 0 && (n.isNull() || n.ast.Type() == ast.SequenceType) {
			n.fault(Fault{Given: "an empty list", Allowed: "a list of " + of + ", or no such line for all"})
		}
	}
}

const (
	maxClaimValue = 512 // bytes
	teamID        = `^[a-z0-9][a-z0-9-]{0,62}$`
)

var controls = regexp.MustCompile(`[[:cntrl:]]`)

func isPattern(text string) bool {
	return text != "" && len(text) <= 128 && !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) })
}

// MaxProse is the longest description and note in characters.
const MaxProse = 200

// IsProse reports whether a text may be a description or a note: at most [MaxProse] characters in one line, without
// characters that hide or change the direction of others. The joiners and marks that Arabic and Indian scripts need pass.
func IsProse(text string) bool {
	strange := func(c rune) bool {
		joins := c == '\u200c' || c == '\u200d' || c == '\u200e' || c == '\u200f'
		return c == utf8.RuneError || !unicode.IsGraphic(c) && !joins
	}
	return utf8.RuneCountInString(text) <= MaxProse && !strings.ContainsFunc(text, strange)
}

// IsIssuerURL reports whether a text is an address of an issuer or of its keys: https, or http on this machine, at most 512 bytes.
func IsIssuerURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxClaimValue || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && event.IsThisMachine(u.Hostname())
}

var ownID = spelled(teamID, "1 to 63 of a–z, 0–9 and -, the first no -")

// IsID reports whether a team, or an account at the service, may have an id.
func IsID(text string) bool {
	_, is := ownID.parse(text)
	return is
}

// filePath is the path of a file. The file itself is looked at elsewhere.
var filePath = word[string]("the path of a file, of 1 to 4096 bytes without control characters", func(text string) bool {
	return text != "" && len(text) <= 4096 && !controls.MatchString(text)
})

// percent is a part of a quota.
var percent = whole(1, 100)
