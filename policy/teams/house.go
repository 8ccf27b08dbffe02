package teams

import (
	"strings"

	"sluice/policy/strictyaml"
)

// outsideMark begins the id of an account outside of the teams. No team's id begins with it.
const outsideMark = "@"

// HouseID is the id of the house's account.
const HouseID = outsideMark + "house"

// IsOutside reports whether an account, by its id, belongs to no team. Lists of teams and their sums leave such accounts out.
func IsOutside(id string) bool { return strings.HasPrefix(id, outsideMark) }

// House is the cap of all teams together.
type House struct {
	// Account has the house's quotas, under an id that no team has, no other limits, and no keys.
	Account *Team
	// Alert are the per cents of each quota at which the use is reported, rising, each from 1 to 100. Nil: none.
	Alert []int
}

// Spends reports whether there is a house with a spend quota.
func (h *House) Spends() bool { return h != nil && h.Account.Spends() }

// Quotas is the house's account, which has its quotas; nil: there is no house.
func (h *House) Quotas() *Team {
	if h == nil {
		return nil
	}
	return h.Account
}

// NeedsPrice reports whether a quota of spend of a team, or of the house, requires that the team's models have a price.
func (f *File) NeedsPrice(team *Team) bool { return team.Spends() || f.House.Spends() }

// readHouse reads the cap of all teams together.
func readHouse(n strictyaml.Node) *House {
	h := &House{Account: &Team{ID: HouseID, Owner: OwnerFile, Money: n.Money}}
	given := n.Fields(
		strictyaml.May("quotas", strictyaml.Group(quotaFields(&h.Account.Quotas)...)),
		strictyaml.May("alert", func(v strictyaml.Node) { h.Alert = readAlert(v) }),
	)
	if given != nil && len(h.Account.Quotas) == 0 {
		n.Fault(strictyaml.Fault{Given: "no quota", Allowed: "quotas of the house, or no such line"})
	}
	h.Account.warnQuotas(n, "the house")
	return h
}

// BeyondHouse warns of quotas of an owner's teams that they can never use up because the house's are smaller. Warnings
// about the file's own teams are also in [File.Warnings].
func (f *File) BeyondHouse(owner Owner) (warnings []string) {
	for _, team := range f.List {
		if team.Owner == owner {
			warnings = append(warnings, f.House.beyond(team)...)
		}
	}
	return warnings
}

// beyond warns of a team's quotas that it can never use up because the house's are smaller.
func (h *House) beyond(team *Team) (warnings []string) {
	for _, q := range team.Quotas {
		for _, most := range h.Quotas().quotas() {
			if q.Unit == most.Unit && q.Period == most.Period && q.Limit > most.Limit {
				warnings = append(warnings, team.ID+" can never use its quota "+q.named()+": the house's is smaller")
			}
		}
	}
	return warnings
}

// quotas are those of a team; a nil Team has none.
func (t *Team) quotas() []Quota {
	if t == nil {
		return nil
	}
	return t.Quotas
}
