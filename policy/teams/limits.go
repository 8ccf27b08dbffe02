package teams

import (
	"time"

	"sluice/policy"
)

// Unit is the unit in which a limit counts.
type Unit string

// The units, named in letters alone. docs/architecture.md, Adding a unit, lists all places that know them.
const (
	UnitRequests Unit = "requests"
	UnitTokens   Unit = "tokens"
	UnitImages   Unit = "images"
	UnitSpend    Unit = "spend" // money; amounts are integers of 10⁻⁹ of the currency
)

// Units lists every unit in the order in which limits and reports name them.
var Units = [...]Unit{UnitRequests, UnitTokens, UnitImages, UnitSpend}

// Period is the length of a quota, by the calendar in UTC.
type Period string

// The periods.
const (
	PeriodDay   Period = "day"
	PeriodMonth Period = "month"
)

// Periods lists every period, the shorter first.
var Periods = [...]Period{PeriodDay, PeriodMonth}

// Nano is how many parts an amount of the currency is counted in: 1.50 is 1,500,000,000.
const Nano = 1_000_000_000

// MaxAmount is the largest amount of any unit, 2⁵³ − 1: the state keeps numbers that are exact only up to there.
const MaxAmount = 1<<53 - 1

// Rate is a token bucket: it refills continuously at Limit ÷ Per and holds at most Burst. A new bucket is full.
// Burst × Per in microseconds is below 2⁵³, and one unit always fits.
type Rate struct {
	Unit    Unit          // UnitRequests, UnitTokens or UnitImages
	Per     time.Duration // 1s to 1h, whole seconds
	PerText string        // Per as the file writes it, "1m"
	Limit   int64         // units per Per, at least 1
	Burst   int64         // capacity in units, at least 1; a file without it gets Limit
}

// Quota bounds the use of a team in one calendar period in UTC.
type Quota struct {
	Unit   Unit   // any unit
	Period Period // PeriodDay or PeriodMonth
	Limit  int64  // 0 to MaxAmount, for UnitSpend in 10⁻⁹ of the currency; 0 allows nothing
}

// AccountLimit is a limit of the upstream account itself, shared by all teams.
type AccountLimit struct {
	Models []policy.Pattern // the models whose requests share it; nil: all
	Rates  []Rate           // at least one, at most one per unit, ordered requests, tokens, images
}
