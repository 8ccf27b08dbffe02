package teams

import (
	"slices"

	"sluice/policy/strictyaml"
)

// Issuer is a party whose signed tokens (JWT) are accepted in place of keys.
type Issuer struct {
	// URL names the issuer exactly as its tokens do; its keys are found from there. https, or http on this machine.
	URL string
	// Audience must be one of a token's audiences.
	Audience string
	// Algorithms are the accepted signature algorithms. Default RS256 and ES256.
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

// Algorithms are the signature algorithms that an issuer may use. None of them uses a shared secret.
var Algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

var (
	claimName   = strictyaml.Spelled(`^[A-Za-z0-9_.:/-]{1,128}$`, "the name of a claim, 1 to 128 letters, digits, _ . : / and -")
	teamOfClaim = strictyaml.Spelled(teamID, "the id of a team")
)

// readIssuers reads the issuers whose tokens are accepted.
func readIssuers(n strictyaml.Node) (all []*Issuer) {
	count := n.Items("a list of issuers", func(item strictyaml.Node) {
		i := &Issuer{Algorithms: []string{"RS256", "ES256"}, Claim: "sub"}
		item.Fields(
			strictyaml.Must("url", strictyaml.One(&i.URL, issuerURL)),
			strictyaml.Must("audience", strictyaml.One(&i.Audience, claimValue)),
			strictyaml.May("algorithms", func(v strictyaml.Node) { i.Algorithms = readAlgorithms(v) }),
			strictyaml.May("claim", strictyaml.One(&i.Claim, claimName)),
			strictyaml.Must("teams", func(v strictyaml.Node) { i.Teams = readClaimTeams(v) }),
		)
		if slices.ContainsFunc(all, func(o *Issuer) bool { return o.URL == i.URL && o.Audience == i.Audience }) && i.URL != "" {
			item.Refuse(i.URL, "each url once with the same audience")
		}
		all = append(all, i)
	})
	n.AtMost(maxIssuers, count, "issuers")
	return all
}

// readAlgorithms reads the list of signature algorithms.
func readAlgorithms(n strictyaml.Node) []string {
	names := strictyaml.List(n, "algorithms", strictyaml.Choice(Algorithms...), "each algorithm once")
	if len(names) == 0 {
		n.Fault(strictyaml.Fault{Given: "no algorithm", Allowed: strictyaml.AnyOf(Algorithms)})
	}
	return names
}

// readClaimTeams reads the teams of a claim's values. The ids are not checked, because teams of the directory may be
// among them.
func readClaimTeams(n strictyaml.Node) map[string]string {
	values := map[string]string{}
	n.Pairs("values of the claim with the ids of their teams", func(value string, key, team strictyaml.Node) {
		if _, ok := claimValue.Parse(value); !ok {
			key.Refuse(value, claimValue.Allowed)
		}
		values[value], _ = strictyaml.Read(team, teamOfClaim)
	})
	n.AtMost(maxClaimValues, len(values), "values")
	return values
}
