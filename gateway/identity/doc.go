// Package identity verifies the tokens (JWT) of issuers that the teams file names. A token stands in place of a key: a workload
// that has one, such as a pod's service account, needs no key. The package knows no HTTP request of a client and no team's limits.
//
// [Verifier.Identify] refuses a token before it looks at its signature unless its issuer, audience and algorithm are listed;
// go-oidc verifies the rest. A verified token is remembered by the SHA-256 of the whole of it.
package identity
