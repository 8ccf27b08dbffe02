package redisstore

import (
	"math"
	"strconv"
	"sync/atomic"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// schema begins every key. The package comment lists them.
const schema = "sl1:"

// The keys of no team. accountKeys begins those of the upstream account's rates, which share a slot.
const (
	epochKey    = schema + "epoch"
	namesKey    = schema + "teams"
	replicasKey = schema + "replicas"
	accountKeys = schema + "account:{account}:"
)

// teamKeys are the keys of one team. All have the team in their hash tag, so they lie in one slot of a cluster and one
// script may use them all. Team ids are of a–z, 0–9 and -, so no id can end the tag early.
type teamKeys struct {
	id     string
	shared []any // rates, quota, open: the first keys of most scripts
	quota  string
	open   string
	aside  string // allowances
	hold   string // and the id
	ledger string // and the day as yyyymmdd

	terms atomic.Pointer[wiredTerms]
}

// wiredTerms are a team's limits as the scripts take them, made once for each reading of the teams file.
type wiredTerms struct {
	of    *teams.Team
	terms limit.Terms
	rates []any
	plans [1 << len(limit.Amounts{})]atomic.Pointer[plan] // by the units that a request is charged in
}

func keysOf(team string) *teamKeys {
	p := schema + "{" + team + "}:"
	k := &teamKeys{id: team, quota: p + "quota", open: p + "open", aside: p + "aside", hold: p + "hold:", ledger: p + "use:"}
	for _, unit := range teams.Units[:limit.RateCount] {
		k.shared = append(k.shared, p+"rate:"+string(unit))
	}
	k.shared = append(k.shared, k.quota, k.open)
	return k
}

// wired returns the limits of a team for the scripts.
func (k *teamKeys) wired(team *teams.Team) *wiredTerms {
	if w := k.terms.Load(); w != nil && w.of == team {
		return w
	}
	w := &wiredTerms{of: team, terms: limit.TermsOf(team)}
	for _, r := range w.terms.Rates {
		w.rates = appendRate(w.rates, r)
	}
	k.terms.Store(w)
	return w
}

// rateArgs is how many arguments a rate is.
const rateArgs = 5

// appendRate adds a rate as the scripts take it: as a text of limit, period in microseconds and burst, each behind a blank;
// the three; and the milliseconds that its bucket is kept, which is longer than two refills take.
func appendRate(args []any, r teams.Rate) []any {
	if r.Limit == 0 {
		return append(args, "", "", "", "", "")
	}
	limit, per, burst := strconv.FormatInt(r.Limit, 10), strconv.FormatInt(r.Per.Microseconds(), 10), strconv.FormatInt(r.Burst, 10)
	refill := math.Ceil(float64(r.Burst) * float64(r.Per.Milliseconds()) / float64(r.Limit))
	return append(args, " "+limit+" "+per+" "+burst, limit, per, burst, strconv.FormatInt(int64(2*refill)+60_000, 10))
}

// late is the key of the days that changed late.
func (k *teamKeys) late() string { return k.ledger + "late" }

func (k *teamKeys) day(day int) string { return k.ledger + strconv.Itoa(day) }

// tags is the key of the ledger of tags of a day.
func (k *teamKeys) tags(day int) string { return k.day(day) + ":tags" }
