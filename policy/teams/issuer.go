package teams

import "slices"

// Issuer is a party whose signed tokens (JWT) are accepted in place of keys.
type Issuer struct {
	// URL names the issuer exactly as its tokens do; its keys are found from there. https, or http on this machine.
	URL string
	// Audience must be among those of a token.
	Audience string
	// Algorithms are the signatures that are accepted. Default RS256 and ES256.
	Algorithms []string
	// Claim is the member of a token that identifies the team. Default sub.
	Claim string
	// Teams has the team's id for each value of the claim. Values are compared letter for letter.
	Teams map[string]string
}

// Bounds of issuers.
const (
	maxIssuers     = 16
	maxClaimValues = 10_000 // of one issuer
)

// Algorithms are the signatures that an issuer may use. None of them uses a shared secret.
var Algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

var (
	claimName   = spelled(`^[A-Za-z0-9_.:/-]{1,128}$`, "the name of a claim, 1 to 128 letters, digits, _ . : / and -")
	teamOfClaim = spelled(teamID, "the id of a team")
)

// readIssuers reads the issuers whose tokens are accepted.
func readIssuers(n node) (all []*Issuer) {
	count := n.items("a list of issuers", func(item node) {
		i := &Issuer{Algorithms: []string{"RS256", "ES256"}, Claim: "sub"}
		item.fields(
			must("url", one(&i.URL, issuerURL)),
			must("audience", one(&i.Audience, claimValue)),
			may("algorithms", func(v node) { i.Algorithms = readAlgorithms(v) }),
			may("claim", one(&i.Claim, claimName)),
			must("teams", func(v node) { i.Teams = readClaimTeams(v) }),
		)
		if slices.ContainsFunc(all, func(o *Issuer) bool { return o.URL == i.URL && o.Audience == i.Audience }) && i.URL != "" {
			item.refuse(i.URL, "each url once with the same audience")
		}
		all = append(all, i)
	})
	n.atMost(maxIssuers, count, "issuers")
	return all
}

// readAlgorithms reads the list of signatures.
func readAlgorithms(n node) []string {
	names := list(n, "algorithms", choice(Algorithms...), "each algorithm once")
	if len(names) == 0 {
		n.fault(Fault{Given: "no algorithm", Allowed: anyOf(Algorithms)})
	}
	return names
}

// readClaimTeams reads the teams of a claim's values. A team of the directory may be among them, so a name may be unknown here.
func readClaimTeams(n node) map[string]string {
	values := map[string]string{}
	n.pairs("values of the claim with the ids of their teams", func(value string, key, team node) {
		if _, ok := claimValue.parse(value); !ok {
			key.refuse(value, claimValue.allowed)
		}
		values[value], _ = read(team, teamOfClaim)
	})
	n.atMost(maxClaimValues, len(values), "values")
	return values
}
