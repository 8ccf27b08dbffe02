package teams

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
)

// Issuer is a party whose signed tokens (JWT) stand in place of keys.
type Issuer struct {
	// URL names the issuer exactly as its tokens do; its keys are found from there. https, or http on this machine.
	URL string
	// Audience must be among those of a token.
	Audience string
	// Algorithms are the signatures that are accepted. Default RS256 and ES256.
	Algorithms []string
	// Claim is the member of a token that tells the team. Default sub.
	Claim string
	// Teams has the team's id for each value of the claim. Values are compared letter for letter.
	Teams map[string]string
}

// Bounds of issuers.
const (
	maxIssuers     = 16
	maxClaimValues = 10_000 // of one issuer
	maxClaimValue  = 512    // bytes of one value
)

// Algorithms are the signatures that an issuer may use. None of them takes a shared secret.
var Algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

var defaultAlgorithms = []string{"RS256", "ES256"}

// issuers reads whose tokens are taken.
func (r *fileReader) issuers(n node) (all []*Issuer) {
	r.items(n, "a list of issuers", func(item node) {
		i := r.issuer(item)
		if slices.ContainsFunc(all, func(o *Issuer) bool { return o.URL == i.URL && o.Audience == i.Audience }) && i.URL != "" {
			r.refuse(item, i.URL, "each url once with the same audience")
		}
		all = append(all, i)
	})
	if len(all) > maxIssuers {
		r.refuse(n, strconv.Itoa(len(all))+" issuers", "at most "+strconv.Itoa(maxIssuers))
	}
	return all
}

var claimName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,128}$`)

// issuer reads one issuer.
func (r *fileReader) issuer(n node) *Issuer {
	i := &Issuer{Algorithms: defaultAlgorithms, Claim: "sub"}
	given := r.fields(n, []field{
		{"url", func(v node) { i.URL = r.issuerURL(v) }},
		{"audience", func(v node) { i.Audience = r.claimValue(v) }},
		{"algorithms", func(v node) { i.Algorithms = r.algorithms(v) }},
		{"claim", func(v node) {
			i.Claim = r.word(v, claimName, "the name of a claim, 1 to 128 letters, digits, _ . : / and -")
		}},
		{"teams", func(v node) { i.Teams = r.claimTeams(v) }},
	})
	r.require(n, given, "url", "audience", "teams")
	return i
}

// issuerURL reads the URL of an issuer as its tokens have it.
func (r *reader) issuerURL(n node) string {
	const allowed = "an address such as https://login.example/realm, without user, query and fragment (http on this machine alone)"
	text, ok := r.text(n, allowed)
	if ok && !IsIssuerURL(text) {
		r.refuse(n, text, allowed)
		return ""
	}
	return text
}

// IsIssuerURL reports whether a text is an address of an issuer or of its keys: https, or http on this machine, at most 512 bytes.
func IsIssuerURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxClaimValue || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// claimValue reads a value that a token must have, letter for letter.
func (r *reader) claimValue(n node) string {
	allowed := "1 to " + strconv.Itoa(maxClaimValue) + " bytes without control characters"
	text, ok := r.text(n, allowed)
	if ok && !isClaimValue(text) {
		r.refuse(n, text, allowed)
		return ""
	}
	return text
}

var controls = regexp.MustCompile(`[[:cntrl:]]`)

func isClaimValue(text string) bool {
	return text != "" && len(text) <= maxClaimValue && !controls.MatchString(text)
}

// algorithms reads the list of signatures.
func (r *fileReader) algorithms(n node) (names []string) {
	r.items(n, "a list of algorithms", func(item node) {
		name, ok := r.text(item, list(Algorithms))
		switch {
		case ok && !slices.Contains(Algorithms, name):
			r.refuse(item, name, list(Algorithms))
		case slices.Contains(names, name):
			r.refuse(item, name, "each algorithm once")
		}
		names = append(names, name)
	})
	if len(names) == 0 {
		r.fault(n, "got no algorithm, allowed: "+list(Algorithms))
	}
	return names
}

// claimTeams reads the teams of a claim's values. A team of the directory may be among them, so a name may be unknown here.
func (r *fileReader) claimTeams(n node) map[string]string {
	values := map[string]string{}
	r.pairs(n, "values of the claim with the ids of their teams", func(value string, key, team node) {
		if !isClaimValue(value) {
			r.refuse(key, value, "1 to "+strconv.Itoa(maxClaimValue)+" bytes without control characters")
		}
		values[value] = r.word(team, teamID, "the id of a team")
	})
	if len(values) > maxClaimValues {
		r.refuse(n, strconv.Itoa(len(values))+" values", "at most "+strconv.Itoa(maxClaimValues))
	}
	return values
}
