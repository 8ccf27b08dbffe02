package main

import (
	"crypto/rand"
	"fmt"

	"sluice/policy/teams"
)

// keyCommand is sluice key.
type keyCommand struct {
	Team string `required:"" placeholder:"T" help:"The team's id, as in the teams file."`
}

// Run mints a key and shows it once. It is stored nowhere; the teams file has its digest.
func (k keyCommand) Run(p program) error {
	minted, err := teams.MintKey(rand.Reader)
	if err != nil {
		return err
	}
	document := "teams:\n  - id: " + k.Team + "\n    keys:\n" + minted.Lines()
	if file, err := teams.Parse([]byte(document)); err != nil || file.Team(k.Team) == nil {
		return badUsage{fmt.Errorf("--team: allowed: an id as in the teams file, such as search")}
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n\n# For the teams file, under the keys of team %s. The key above is shown this once.\n%s", minted.Reveal(), k.Team, minted.Lines())
	return err
}
