package teams

import (
	"slices"
	"strconv"

	"sluice/policy"
)

// absentImages is how many images a request for a task counts as when it does not say how many it wants.
const absentImages = 4

// warnFile notes what the file allows and its author may not have meant.
func (r *fileReader) warnFile(n fileNode, t *File) {
	if len(t.List) == 0 {
		r.warn(n, "no teams: every request will be refused")
	}
	spends := slices.ContainsFunc(t.List, (*Team).spends)
	if (spends || len(t.Prices) > 0) && !covered(t.Prices, "*") {
		r.warn(n, "no price catches all: other models count as free, and a team with a spend quota may not use them")
	}
	if (spends || len(t.Prices) > 0) && t.Currency == "" {
		r.warn(n, "no currency: reports will show amounts without a word")
	}
	for i, team := range t.List {
		r.warnTeam(r.places[i], team, t.Prices)
	}
}

// warnTeam notes what one team may not do although the file seems to say so.
func (r *fileReader) warnTeam(n fileNode, t *Team, prices []Price) {
	if len(t.Keys) == 0 && !t.Disabled {
		r.warn(n, t.ID+" has no key")
	}
	if t.MayUse(policy.EndpointImage) && !t.MayUse(policy.EndpointTasks) {
		r.warn(n, t.ID+" may create image tasks and not ask how they stand: its endpoints lack tasks")
	}
	for _, rate := range t.Rates {
		if rate.Unit == UnitImages && rate.Burst < absentImages && t.MayUse(policy.EndpointImage) {
			r.warn(n, t.ID+" can never create an image task without n, which counts as "+strconv.Itoa(absentImages)+
				" images: its images rate holds "+strconv.FormatInt(rate.Burst, 10))
		}
	}
	if !t.spends() {
		return
	}
	models := t.Models
	if models == nil {
		models = []policy.Pattern{"*"}
	}
	for _, model := range models {
		if !covered(prices, model) {
			r.warn(n, t.ID+" has a spend quota and no one price covers "+shown(string(model))+
				": models without a price are refused")
		}
	}
}

// warnPrice notes a price that never counts because one before it catches all of its models.
func (r *fileReader) warnPrice(n fileNode, before []Price, p Price) {
	if covered(before, p.Pattern) {
		r.warn(n, "never counts: a price before it catches all of "+shown(string(p.Pattern)))
	}
}

// covered reports whether one of the prices catches every model that the pattern matches. A pattern that matches the
// other's text, stars and all, does: only a star of its own can match a star. Two prices that cover it between them do
// not count, which for a warning is near enough.
func covered(prices []Price, pattern policy.Pattern) bool {
	return slices.ContainsFunc(prices, func(p Price) bool { return p.Pattern.Match(string(pattern)) })
}

// spends reports whether the team has a spend quota.
func (t *Team) spends() bool {
	return slices.ContainsFunc(t.Quotas, func(q Quota) bool { return q.Unit == UnitSpend })
}
