package teams

import (
	"slices"
	"time"

	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// Team is one team, with the defaults filled in.
type Team struct {
	// ID names the team in the log, the metrics and the state: ^[a-z0-9][a-z0-9-]{0,62}$, unique in the file.
	ID string
	// Owner is where the team is defined.
	Owner Owner
	// Money is the fraction of the currency in which limits, use and raises of money count, by the teams file.
	Money unit.Money
	// Description is for people, at most 200 characters in one line. Empty: none.
	Description string
	// Members are the groups and e-mails of the issuer that the console accepts as the team's, at most 100. Nil: none.
	Members []string
	// SelfService lets the members create and end keys of the team in the console. Default false.
	SelfService bool
	// KeyDays is the longest life in days of a key that the directory gives the team, 1 to 3650. 0: any.
	KeyDays int
	// Disabled makes every key of the team unusable. Default false.
	Disabled bool
	// Removing: the team is disabled, and removed once nothing of it is open. Only in the directory. Default false.
	Removing bool
	// Keys are the team's keys in the order of the file. Two valid ones let a team rotate. May be empty.
	Keys []Key
	// Models are the patterns of the models that the team may use. Nil: all.
	Models []policy.Pattern
	// Regions are those of the accounts at the service that may do the team's work. Nil: any.
	Regions []string
	// Endpoints are the endpoints the team may use. Nil: all but other, which passes bodies unread. See [Team.Uses].
	Endpoints []policy.Endpoint
	// Rates are the team's rates, at most one per unit, ordered requests, tokens, images. Nil: none.
	Rates []Rate
	// Quotas are the team's quotas, at most one per unit and period, ordered by unit as unit.Names is, day before month. Nil: none.
	Quotas []Quota
	// Base are the quotas as the team's owner wrote them, and Raises the raises in force, which Quotas include: see [File.Raised]. Nil: no
	// raise is in force.
	Base   []Quota
	Raises []Raise
	// Concurrent is how many requests may be in flight, over all replicas. 0: any number.
	Concurrent int
	// OpenTasks is how many tasks may be under way. 0: any number.
	OpenTasks int
	// Queue is how requests wait. Default: only those that ask for it, at most 100.
	Queue Queue
	// Share weighs the team where teams take turns at what they share, 1 to 1000. 0: 1. See [Team.Weight].
	Share int
	// Shadow: rates, quotas, Concurrent and OpenTasks refuse nothing, and would-be refusals are reported. Default false.
	Shadow bool
	// TagKey names the tag by whose values the ledger of tags is split. Empty: the team has no such ledger.
	TagKey string
	// TagQuotas are quotas of each value of that tag, ordered as Quotas. A team that has any has a TagKey. Nil: none.
	TagQuotas []Quota
	// Modes are the team's modes by rule id, over the gateway's. Nil: none.
	Modes policy.Modes
	// Hooks get the team's events, at most 20. Nil: none.
	Hooks []event.Hook
	// Mirror is for how long pictures of its tasks are kept in the operator's store: whole hours, 24h to ten years. 0: none are stored.
	Mirror time.Duration
	// Alert are the per cents of each quota at which the use is an event, as the house's. Nil: none.
	Alert []int

	counted map[string]*Key // the keys with rates or quotas of their own, by id; nil: none
}

// Owner is where a team is defined, and so where it can be changed.
type Owner string

// The owners.
const (
	OwnerFile      Owner = "file"      // the teams file
	OwnerDirectory Owner = "directory" // the directory: see [File.Join]
)

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
	ofSpend := func(q Quota) bool { return q.Unit == unit.NameSpend }
	return slices.ContainsFunc(t.Quotas, ofSpend) || slices.ContainsFunc(t.TagQuotas, ofSpend)
}

// countedOf are the keys that have rates or quotas, by id.
func countedOf(keys []Key) (counted map[string]*Key) {
	for i := range keys {
		if keys[i].counts() {
			if counted == nil {
				counted = map[string]*Key{}
			}
			counted[keys[i].ID] = &keys[i]
		}
	}
	return counted
}

// Key returns the team's key with this id if it has rates or quotas of its own, else nil.
func (t *Team) Key(id string) *Key { return t.counted[id] }

// CountedKeys are the team's keys that have rates or quotas of their own, in the order of the file.
func (t *Team) CountedKeys() (keys []*Key) {
	for i := range t.Keys {
		if t.Keys[i].counts() {
			keys = append(keys, &t.Keys[i])
		}
	}
	return keys
}

const (
	maxKeyDays = 3650 // ten years
	maxCount   = 1_000_000
	maxMembers = 100 // groups and e-mails
)

// unreadTag replaces a faulty tag_key, so that it is not also reported as missing.
const unreadTag = "?"

// shared are the fields that a team and the defaults have in common. They replace t's copies of the defaults.
// tagQuotas is set to the node of tag_quotas.
func (t *Team) shared(tagQuotas *strictyaml.Node) []strictyaml.Field {
	return []strictyaml.Field{
		strictyaml.May("models", strictyaml.Some(&t.Models, "model patterns", modelPattern)),
		strictyaml.May("regions", strictyaml.Some(&t.Regions, "regions", ownID)),
		strictyaml.May("endpoints", strictyaml.Some(&t.Endpoints, "endpoints", strictyaml.Choice(policy.Endpoints...))),
		strictyaml.May("rates", strictyaml.Group(rateFields(&t.Rates)...)),
		strictyaml.May("quotas", strictyaml.Group(quotaFields(&t.Quotas)...)),
		strictyaml.May("concurrent", strictyaml.OneOrNone(&t.Concurrent, strictyaml.Whole(1, maxCount))),
		strictyaml.May("open_tasks", strictyaml.OneOrNone(&t.OpenTasks, strictyaml.Whole(1, maxCount))),
		strictyaml.May("queue", strictyaml.Group(t.Queue.fields()...)),
		strictyaml.May("share", strictyaml.OneOrNone(&t.Share, strictyaml.Whole(1, maxShare))),
		strictyaml.May("shadow", strictyaml.One(&t.Shadow, strictyaml.Flag)),
		strictyaml.May("tag_key", func(n strictyaml.Node) {
			if t.TagKey = unreadTag; n.IsNone() {
				t.TagKey = ""
			} else if name, ok := strictyaml.Read(n, tagName); ok {
				t.TagKey = name
			}
		}),
		strictyaml.May("tag_quotas", func(n strictyaml.Node) {
			*tagQuotas = n
			n.Fields(quotaFields(&t.TagQuotas)...)
		}),
		strictyaml.May("key_days", strictyaml.OneOrNone(&t.KeyDays, strictyaml.Whole(1, maxKeyDays))),
		strictyaml.May("hooks", func(n strictyaml.Node) { t.Hooks = readHooks(n) }),
		strictyaml.May("alert", func(n strictyaml.Node) { t.Alert = readAlert(n) }),
		strictyaml.May("mirror", func(n strictyaml.Node) { t.Mirror = readMirror(n) }),
		strictyaml.May("rules", func(n strictyaml.Node) { t.Modes = t.Modes.Override(readModes(n)) }),
	}
}

// needTagKey refuses quotas for the values of a tag if no tag is named.
func (t *Team) needTagKey(n strictyaml.Node) {
	if len(t.TagQuotas) > 0 && t.TagKey == "" {
		n.Fault(strictyaml.Fault{Given: "tag_quotas without a tag_key", Allowed: "with a tag_key, which names the tag that they count by"})
		t.TagKey = unreadTag // one fault is enough
	}
}

// readTeams reads the list of an owner's teams, each starting from the defaults, with their places in the document.
func readTeams(n strictyaml.Node, defaults Team, owner Owner) (all []*Team, places []strictyaml.Node) {
	const allowed = "a list of teams, [] for none"
	if n.IsNull() {
		n.WrongKind(allowed)
	}
	n.Items(allowed, func(item strictyaml.Node) {
		places = append(places, item)
		all = append(all, readTeam(item, defaults, owner))
	})
	return all, places
}

func readTeam(n strictyaml.Node, defaults Team, owner Owner) *Team {
	t, tagQuotas := defaults, n
	t.Owner = owner
	known := []strictyaml.Field{
		strictyaml.Must("id", strictyaml.Unique(&t.ID, "team id", ownID)),
		strictyaml.May("description", strictyaml.One(&t.Description, prose)),
		strictyaml.May("members", func(v strictyaml.Node) {
			t.Members = strictyaml.List(v, "groups and e-mails", member, "each group and e-mail once")
			v.AtMost(maxMembers, len(t.Members), "groups and e-mails")
		}),
		strictyaml.May("self_service", strictyaml.One(&t.SelfService, strictyaml.Flag)),
		strictyaml.May("disabled", strictyaml.One(&t.Disabled, strictyaml.Flag)),
		strictyaml.May("keys", func(v strictyaml.Node) {
			v.Items("a list of keys", func(item strictyaml.Node) { t.Keys = append(t.Keys, readKey(item)) })
			t.counted = countedOf(t.Keys)
		}),
	}
	if owner == OwnerDirectory {
		known = append(known, strictyaml.May("removing", strictyaml.One(&t.Removing, strictyaml.Flag)))
	}
	n.Fields(append(known, t.shared(&tagQuotas)...)...)
	if t.Removing && !t.Disabled {
		n.Fault(strictyaml.Fault{Given: "removing without disabled", Allowed: "both, or neither to keep the team"})
	}
	if t.Owner == OwnerDirectory && t.TagKey == "" {
		// The file's defaults change without regard to the directory's teams. Refusing its document for one team without a tag
		// would lock all of them out.
		t.TagQuotas = without(t.TagQuotas, func(q Quota) bool { return slices.Contains(defaults.TagQuotas, q) })
	}
	t.needTagKey(tagQuotas)
	return &t
}
