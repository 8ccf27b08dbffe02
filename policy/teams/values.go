package teams

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// Nano is what one unit of the currency counts as, unless the teams file has other currency_digits: 1.50 is 1,500,000,000.
const Nano = 1_000_000_000

var (
	// window is a rate's, in whole seconds because the RateLimit-Policy header has only those.
	window = strictyaml.Form[time.Duration]{Allowed: `whole seconds from "1s" to "1h"`, Parse: func(text string) (time.Duration, bool) {
		per, err := time.ParseDuration(text)
		return per, err == nil && per >= time.Second && per <= time.Hour && per%time.Second == 0
	}}

	// moment is a point in time that RFC 3339 can write in UTC. Go's zero time would mean never.
	moment = strictyaml.Form[time.Time]{Allowed: "a time such as 2027-06-30T00:00:00Z", Parse: func(text string) (time.Time, bool) {
		at, err := time.Parse(time.RFC3339, text)
		at = at.UTC()
		return at, err == nil && !at.IsZero() && at.Year() >= 1 && at.Year() <= 9999
	}}

	modelName = strictyaml.Word[string]("a model's name of 1 to 128 bytes without spaces and *", func(text string) bool {
		return isPattern(text) && !strings.Contains(text, "*")
	})
	modelPattern = strictyaml.Word[policy.Pattern]("a model's name of 1 to 128 bytes without spaces, * for any run of characters", isPattern)

	prose = strictyaml.Word[string](fmt.Sprintf("one line of at most %d characters, without control characters", MaxProse), IsProse)

	member = strictyaml.Word[string]("a group or an e-mail: one line of 1 to 200 characters, without spaces at its ends",
		func(text string) bool {
			return text != "" && IsProse(text) && strings.TrimSpace(text) == text
		})

	tagName = strictyaml.Word[string]("the name of a tag, 1 to 62 of a–z, 0–9, dot, underscore and hyphen, or none", policy.IsTagName)

	issuerURL = strictyaml.Word[string]("an address such as https://login.example/realm, without user, query and fragment (http only on "+
		"this machine)", IsIssuerURL)

	claimValue = strictyaml.Word[string](fmt.Sprintf("1 to %d bytes without control characters", maxClaimValue), func(text string) bool {
		return text != "" && len(text) <= maxClaimValue && !controls.MatchString(text)
	})
)

// amount is the form of an amount of money in the currency, read as an integer in the document's Money. Programs write
// small ones with an exponent, 1.23e-7.
func amount(n strictyaml.Node) strictyaml.Form[int64] {
	most := n.Money.Written(unit.NameSpend, unit.Most)
	allowed := fmt.Sprintf("an amount from 0 to %s with at most %s decimals", most,
		map[unit.Money]string{unit.Nanos: "nine", unit.Micros: "six"}[n.Money])
	return strictyaml.Form[int64]{Allowed: allowed, Bare: true, Parse: func(text string) (parts int64, ok bool) {
		parts, ok = n.Money.Read(unit.NameSpend, text)
		if !ok && n.AnyMoney {
			parts, ok = unit.Micros.Read(unit.NameSpend, text)
		}
		return parts, ok && strictyaml.Number.MatchString(text) && text[0] != '-'
	}}
}

const (
	maxClaimValue = 512 // bytes
	teamID        = `^[a-z0-9][a-z0-9-]{0,62}$`
)

var controls = regexp.MustCompile(`[[:cntrl:]]`)

func isPattern(text string) bool {
	return text != "" && len(text) <= 128 && !strings.ContainsFunc(text,
		func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) })
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

var ownID = strictyaml.Spelled(teamID, "1 to 63 of a–z, 0–9 and -, not beginning with -")

// IsID reports whether a team, or an account at the service, may have an id.
func IsID(text string) bool {
	_, is := ownID.Parse(text)
	return is
}

// filePath is the path of a file, which is not opened here.
var filePath = strictyaml.Word[string]("the path of a file, of 1 to 4096 bytes without control characters", func(text string) bool {
	return text != "" && len(text) <= 4096 && !controls.MatchString(text)
})

// percent is a per cent of a quota.
var percent = strictyaml.Whole(1, 100)
