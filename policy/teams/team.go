package teams

import (
	"maps"
	"regexp"
	"slices"

	"sluice/policy"
)

// Team is one team, with the defaults filled in.
type Team struct {
	// ID names the team in the log, the metrics and the state: ^[a-z0-9][a-z0-9-]{0,62}$, unique in the file.
	ID string
	// Owner is where the team is defined.
	Owner Owner
	// Description is for people, at most 200 characters in one line. Empty: none.
	Description string
	// Members are the groups and e-mails of the issuer that the console accepts as the team's, at most 100. Nil: none.
	Members []string
	// SelfService lets the members make and end keys of the team in the console. Default false.
	SelfService bool
	// KeyDays is the longest life in days of a key that the directory gives the team, 1 to 3650. 0: any.
	KeyDays int
	// Disabled makes every key of the team unusable. Default false.
	Disabled bool
	// Removing: the team is disabled, and removed once nothing of it is open. Of the directory alone. Default false.
	Removing bool
	// Keys are the team's keys in the order of the file. Two valid ones let a team rotate. May be empty.
	Keys []Key
	// Models are the patterns of the models that the team may use. Nil: all.
	Models []policy.Pattern
	// Endpoints are the endpoints the team may use. Nil: all but other, which passes bodies unread. See [Team.Uses].
	Endpoints []policy.Endpoint
	// Rates are the team's rates, at most one per unit, ordered requests, tokens, images. Nil: none.
	Rates []Rate
	// Quotas are the team's quotas, at most one per unit and period, ordered by unit as Units is, day before month. Nil: none.
	Quotas []Quota
	// Concurrent is how many requests may be in flight, over all replicas. 0: any number.
	Concurrent int
	// OpenTasks is how many tasks may be under way. 0: any number.
	OpenTasks int
	// Shadow: rates, quotas, Concurrent and OpenTasks refuse nothing, and would-be refusals are reported. Default false.
	Shadow bool
	// TagKey names the tag whose values the ledger of tags keeps apart. Empty: it keeps none.
	TagKey string
	// TagQuotas are quotas of each value of that tag, ordered as Quotas. A team that has any has a TagKey. Nil: none.
	TagQuotas []Quota
	// Modes are the team's modes by rule id, over the gateway's. Nil: none.
	Modes policy.Modes
}

// MayUse reports whether the team may use the endpoint.
func (t *Team) MayUse(endpoint policy.Endpoint) bool {
	if t.Endpoints == nil {
		return endpoint != policy.EndpointOther
	}
	return slices.Contains(t.Endpoints, endpoint)
}

// Uses lists the endpoints that the team may use, in the order of [policy.Endpoints].
func (t *Team) Uses() []policy.Endpoint {
	return slices.DeleteFunc(slices.Clone(policy.Endpoints), func(e policy.Endpoint) bool { return !t.MayUse(e) })
}

// MayUseModel reports whether the team may use the model, whose name is compared as decoded, letter for letter.
func (t *Team) MayUseModel(model string) bool {
	return t.Models == nil || policy.MatchAny(t.Models, model)
}

// Spends reports whether the team has a spend quota, or one for each value of its tag.
func (t *Team) Spends() bool {
	ofSpend := func(q Quota) bool { return q.Unit == UnitSpend }
	return slices.ContainsFunc(t.Quotas, ofSpend) || slices.ContainsFunc(t.TagQuotas, ofSpend)
}

// draft is a team, or the defaults, while it is read. Its limits are in maps, so that a team's replace those of the
// defaults one by one.
type draft struct {
	team      Team
	rates     map[Unit]Rate
	quotas    map[quotaName]int64
	tagQuotas map[quotaName]int64
	tagPlace  node // of tag_quotas, or of the team
}

type quotaName struct {
	unit   Unit
	period Period
}

func newDraft() *draft {
	return &draft{rates: map[Unit]Rate{}, quotas: map[quotaName]int64{}, tagQuotas: map[quotaName]int64{}}
}

func (d *draft) clone() *draft {
	return &draft{team: d.team, rates: maps.Clone(d.rates), quotas: maps.Clone(d.quotas), tagQuotas: maps.Clone(d.tagQuotas)}
}

// finish puts the limits in order.
func (d *draft) finish() *Team {
	d.team.Rates, d.team.Quotas, d.team.TagQuotas = ordered(d.rates), orderedQuotas(d.quotas), orderedQuotas(d.tagQuotas)
	return &d.team
}

// shared are the fields that a team and the defaults have in common.
func (r *fileReader) shared(d *draft) []field {
	t := &d.team
	return []field{
		{"models", func(v node) { t.Models = r.patterns(v) }},
		{"endpoints", func(v node) { t.Endpoints = r.endpoints(v) }},
		{"rates", func(v node) { r.fields(v, r.rateFields(d.rates)) }},
		{"quotas", func(v node) { r.quotas(v, d.quotas) }},
		{"concurrent", func(v node) { t.Concurrent = r.count(v) }},
		{"open_tasks", func(v node) { t.OpenTasks = r.count(v) }},
		{"shadow", func(v node) { t.Shadow = r.flag(v) }},
		{"tag_key", func(v node) { t.TagKey = r.tagKey(v) }},
		{"tag_quotas", func(v node) {
			d.tagPlace = v
			r.quotas(v, d.tagQuotas)
		}},
		{"key_days", func(v node) { t.KeyDays = r.days(v) }},
		{"rules", func(v node) { t.Modes = t.Modes.Override(r.modes(v)) }},
	}
}

// needTagKey refuses quotas of each value of a tag without the tag.
func (r *fileReader) needTagKey(d *draft) {
	if len(d.tagQuotas) > 0 && d.team.TagKey == "" {
		r.fault(d.tagPlace, "got tag_quotas without a tag_key, allowed: with a tag_key, which names the tag that they count by")
		d.team.TagKey = faultyTag // one fault is enough
	}
}

// dropTagQuotas leaves out those of the defaults. Those of the file change without regard to the directory's teams, and to refuse its
// document for one without a tag would close all of them.
func (d *draft) dropTagQuotas(defaults *draft) {
	maps.DeleteFunc(d.tagQuotas, func(name quotaName, limit int64) bool {
		inherited, ok := defaults.tagQuotas[name]
		return ok && inherited == limit
	})
}

var teamID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// team reads one team, starting from the defaults.
func (r *fileReader) team(n node, defaults *draft) *Team {
	d := defaults.clone()
	d.team.Owner, d.tagPlace = r.owner, n
	own := []field{
		{"id", func(v node) {
			d.team.ID = r.unique(v, "team id", teamID, "1 to 63 of a–z, 0–9 and -, the first no -")
		}},
		{"description", func(v node) { d.team.Description = r.prose(v) }},
		{"members", func(v node) { d.team.Members = members(&r.reader, v) }},
		{"self_service", func(v node) { d.team.SelfService = r.flag(v) }},
		{"disabled", func(v node) { d.team.Disabled = r.flag(v) }},
		{"keys", func(v node) {
			r.items(v, "a list of keys", func(item node) { d.team.Keys = append(d.team.Keys, r.key(item)) })
		}},
	}
	if r.owner == OwnerDirectory {
		own = append(own, field{"removing", func(v node) { d.team.Removing = r.flag(v) }})
	}
	given := r.fields(n, append(own, r.shared(d)...))
	r.require(n, given, "id")
	if d.team.Removing && !d.team.Disabled {
		r.fault(n, "got removing without disabled, allowed: both, or neither to keep the team")
	}
	if r.owner == OwnerDirectory && d.team.TagKey == "" {
		d.dropTagQuotas(defaults)
	}
	r.needTagKey(d)
	return d.finish()
}

// endpoints reads the list of endpoints that a team may use.
func (r *fileReader) endpoints(n node) []policy.Endpoint {
	var all []policy.Endpoint
	words := make([]string, len(policy.Endpoints))
	for i, e := range policy.Endpoints {
		words[i] = string(e)
	}
	r.some(n, "endpoints", func(item node) {
		text, ok := r.text(item, list(words))
		if ok && !slices.Contains(words, text) {
			r.refuse(item, text, list(words))
		}
		all = append(all, policy.Endpoint(text))
	})
	return all
}
