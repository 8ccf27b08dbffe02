package teams

import (
	"slices"
	"strconv"

	"sluice/policy"
)

// warnFile warns of what is legal in the file and maybe not meant.
func (r *fileReader) warnFile(n node, t *File) {
	if len(t.List) == 0 {
		r.warn(n, "no teams: every request will be refused")
	}
	spends := slices.ContainsFunc(t.List, (*Team).Spends)
	if (spends || len(t.Prices) > 0) && !covered(t.Prices, "*") {
		r.warn(n, "no price for *: other models count as free, and a team with a spend quota may not use them")
	}
	if (spends || len(t.Prices) > 0) && t.Currency == "" {
		r.warn(n, "no currency: reports will show amounts without a currency")
	}
	identified := t.identified()
	for i, team := range t.List {
		if len(team.Keys) == 0 && !team.Disabled && !identified[team.ID] {
			r.warn(r.places[i], team.ID+" has no key")
		}
		r.warnTeam(r.places[i], team, t.Prices)
	}
}

// identified has the ids of the teams that tokens can name.
func (f *File) identified() map[string]bool {
	ids := map[string]bool{}
	for _, issuer := range f.Issuers {
		for _, team := range issuer.Teams {
			ids[team] = true
		}
	}
	return ids
}

// warnTeam warns of what a team cannot do although the file seems to allow it.
func (r *fileReader) warnTeam(n node, t *Team, prices []Price) {
	if t.MayUse(policy.EndpointImage) && !t.MayUse(policy.EndpointTasks) {
		r.warn(n, t.ID+" can create image tasks but not poll them: add tasks to its endpoints")
	}
	for _, rate := range t.Rates {
		if rate.Unit == UnitImages && rate.Burst < policy.AbsentImages && t.MayUse(policy.EndpointImage) {
			r.warn(n, t.ID+" can never create an image task without n, which counts as "+strconv.Itoa(policy.AbsentImages)+
				" images: its images rate holds "+strconv.FormatInt(rate.Burst, 10))
		}
	}
	if !t.Spends() {
		return
	}
	models := t.Models
	if models == nil {
		models = []policy.Pattern{"*"}
	}
	for _, model := range models {
		if !covered(prices, model) {
			r.warn(n, t.ID+" has a spend quota and no single price covers "+shown(string(model))+
				": models without a price are refused")
		}
	}
}
