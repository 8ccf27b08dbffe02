package limit

import "strconv"

// schema begins every key. Another number means another layout: replicas of two versions must not share one.
const schema = "sl1:"

// teamKeys are the keys of one team. All have the team in their hash tag, so they lie in one slot of a cluster and one
// script may use them all. Team ids are of a–z, 0–9 and -, so no id can end the tag early.
type teamKeys struct {
	team   string
	rates  [rateCount]string
	quota  string
	open   string
	hold   string // and the id
	ledger string // and the day as yyyymmdd
}

func keysOf(team string) *teamKeys {
	p := schema + "{" + team + "}:"
	return &teamKeys{
		team:  team,
		rates: [rateCount]string{p + "rate:requests", p + "rate:tokens", p + "rate:images"},
		quota: p + "quota", open: p + "open", hold: p + "hold:", ledger: p + "use:",
	}
}

func (k *teamKeys) day(day int) string { return k.ledger + strconv.Itoa(day) }

// accountKeys begin the keys of the upstream account's rates, which have a slot of their own.
const accountKeys = schema + "account:{account}:"
