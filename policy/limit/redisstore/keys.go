package redisstore

import (
	"strconv"
	"strings"
	"sync/atomic"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// schema begins every key. The package comment lists them.
const schema = "sl1:"

// The keys that belong to no team. accountKeys is the prefix of the rates of the accounts at the service, which share a slot.
const (
	epochKey    = schema + "epoch"
	namesKey    = schema + "teams"
	outsideKey  = schema + "outside"
	replicasKey = schema + "replicas"
	partsKey    = schema + "{" + replicasKey + "}:parts" // in its slot
	accountKeys = schema + "account:{account}:"
)

// teamKeys are the keys of one team. All have the team in their hash tag, so they lie in one slot of a cluster and one script may use
// them all: it derives them from that of the quotas. Team ids consist of a–z, 0–9 and -, and those of accounts outside of the teams
// begin with @, so no id can end the hash tag early.
type teamKeys struct {
	id     string
	quota  string
	open   string
	aside  string // allowances
	hold   string // prefix of an id
	ledger string // prefix of a day as yyyymmdd

	key, openKey any    // quota and open, converted once
	rates        string // prefix of a unit

	terms atomic.Pointer[wiredTerms]
}

func keysOf(team string) *teamKeys {
	p := schema + "{" + team + "}:"
	k := &teamKeys{quota: p + "quota", open: p + "open", aside: p + "aside", hold: p + "hold:", ledger: p + "use:", id: team}
	k.key, k.openKey, k.rates = k.quota, k.open, p+"rate:"
	return k
}

// rate is the key of a bucket of the team, or of the scope inside it that in names.
func (k *teamKeys) rate(i int, in string) string { return k.rates + string(unit.Names[i]) + in }

// late is the key of the days whose ledger changed late.
func (k *teamKeys) late() string { return k.ledger + "late" }

func (k *teamKeys) day(day int) string { return k.ledger + strconv.Itoa(day) }

// chargers is the key of the replicas that charge an account outside of the teams.
func (k *teamKeys) chargers() string { return k.with("replicas") }

func (k *teamKeys) with(end string) string { return strings.TrimSuffix(k.quota, "quota") + end }

// innerKeys are the suffixes of the keys for what scopes inside a team used and hold on a day, by kind: INNER of holds.lua.
var innerKeys = map[limit.ScopeKind]string{limit.ScopeTag: "tags", limit.ScopeKey: "keys"}

// inside is the key of the day's ledger of the scopes of a kind inside the team.
func (k *teamKeys) inside(kind limit.ScopeKind, day int) string {
	return k.day(day) + ":" + innerKeys[kind]
}

// rateIn is the suffix, after the unit, of the keys of a scope's rates; empty for the team.
func rateIn(kind limit.ScopeKind, name string) string {
	if kind == limit.ScopeTeam {
		return ""
	}
	return ":" + innerKeys[kind] + ":" + name
}
