package teams

import (
	"slices"
	"strconv"
	"strings"

	"sluice/policy"
	"sluice/policy/price"
	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// warn warns of settings that are legal but possibly unintended.
func (f *File) warn(n strictyaml.Node, places []strictyaml.Node) {
	if len(f.List) == 0 {
		n.Warn("no teams: every request will be refused")
	}
	spends := slices.ContainsFunc(f.List, (*Team).Spends) || f.House.Spends()
	missing, others := f.Prices.Missing("*", everyDay), "other models"
	kind, part := strings.CutPrefix(missing, "price of ")
	if part {
		others = kind + " of " + others
	}
	switch {
	case missing == "":
	case f.House.Spends():
		n.Warn("no " + missing + " for *: the house has a spend quota, so " + others + " are refused to every team")
	case spends, !part && len(f.Prices) > 0:
		n.Warn("no " + missing + " for *: " + others + " count as free, and a team with a spend quota may not use them")
	}
	if (spends || len(f.Prices) > 0) && f.Currency == "" {
		n.Warn("no currency: reports will show amounts without a currency")
	}
	identified := map[string]bool{} // the teams that tokens can name
	for _, issuer := range f.Issuers {
		for _, team := range issuer.Teams {
			identified[team] = true
		}
	}
	for i, team := range f.List {
		if len(team.Keys) == 0 && !team.Disabled && !identified[team.ID] {
			places[i].Warn(team.ID + " has no key")
		}
		team.warn(places[i], f.Prices)
		for _, text := range f.House.beyond(team) {
			places[i].Warn(text)
		}
	}
}

// warn warns of what a team cannot do although the file seems to allow it.
func (t *Team) warn(n strictyaml.Node, prices price.List) {
	if t.MayUse(policy.EndpointImage) && !t.MayUse(policy.EndpointTasks) {
		n.Warn(t.ID + " can create image tasks but not poll them: add tasks to its endpoints")
	}
	for _, rate := range t.Rates {
		if rate.Unit == unit.NameImages && rate.Burst < policy.AbsentImages && t.MayUse(policy.EndpointImage) {
			n.Warn(t.ID + " can never create an image task without n, which counts as " + strconv.Itoa(policy.AbsentImages) +
				" images: its images rate holds " + strconv.FormatInt(rate.Burst, 10))
		}
	}
	t.warnQuotas(n, t.ID)
	t.warnKeys(n)
	if t.Spends() {
		warnPrices(n, t.ID, t.Models, prices)
	}
	for i := range t.Keys {
		if k := &t.Keys[i]; k.Spends() && !t.Spends() {
			models := k.Models
			if models == nil {
				models = t.Models
			}
			warnPrices(n, "key "+k.ID+" of "+t.ID, models, prices)
		}
	}
}

// warnPrices warns of models that a spend quota refuses, because they may have no price. Nil: all models.
func warnPrices(n strictyaml.Node, who string, models []policy.Pattern, prices price.List) {
	if models == nil {
		models = []policy.Pattern{"*"}
	}
	for _, model := range models {
		if !prices.Covers(model, everyDay) {
			n.Warn(who + " has a spend quota and no single price covers " + strictyaml.Shown(string(model)) + ": models without a price are refused")
		}
	}
}

// warnQuotas warns of quotas that can never be used up, or never let some requests pass.
func (t *Team) warnQuotas(n strictyaml.Node, who string) {
	for _, q := range t.Quotas {
		if q.Unit == unit.NameImages && q.Limit > 0 && q.Limit < policy.AbsentImages && t.MayUse(policy.EndpointImage) {
			n.Warn(who + " can never create an image task without n, which counts as " + strconv.Itoa(policy.AbsentImages) +
				" images: its quota " + q.named() + " is " + strconv.FormatInt(q.Limit, 10))
		}
		month := slices.IndexFunc(t.Quotas, func(m Quota) bool { return m.Unit == q.Unit && m.Period == PeriodMonth })
		if q.Period == PeriodDay && month >= 0 && q.Limit > t.Quotas[month].Limit {
			n.Warn(who + " can never use its quota " + q.named() + ": that per month is smaller")
		}
	}
}

// warnKeys warns of limits of keys that the team's own make useless.
func (t *Team) warnKeys(n strictyaml.Node) {
	for i := range t.Keys {
		k := &t.Keys[i]
		beyond := func(limit string) {
			n.Warn("key " + k.ID + " of " + t.ID + " has a larger " + limit + " than its team, whose own counts")
		}
		for _, q := range k.Quotas {
			if of := slices.IndexFunc(t.Quotas, func(o Quota) bool { return o.Unit == q.Unit && o.Period == q.Period }); of >= 0 &&
				q.Limit > t.Quotas[of].Limit {
				beyond("quota of " + string(q.Unit) + " a " + string(q.Period))
			}
		}
		for _, r := range k.Rates {
			of := slices.IndexFunc(t.Rates, func(o Rate) bool { return o.Unit == r.Unit })
			if of >= 0 && r.perSecond() > t.Rates[of].perSecond() && r.Burst >= t.Rates[of].Burst {
				beyond("rate of " + string(r.Unit))
			}
		}
		if t.Concurrent > 0 && k.Concurrent > t.Concurrent {
			beyond("concurrent")
		}
		for _, m := range k.Models {
			if t.Models != nil && !slices.ContainsFunc(t.Models, func(p policy.Pattern) bool { return p.Match(string(m)) || m.Match(string(p)) }) {
				n.Warn("key " + k.ID + " of " + t.ID + " may never use " + strictyaml.Shown(string(m)) + ": its team may not")
			}
		}
	}
}
