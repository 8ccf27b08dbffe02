// Package teams will hold the teams file. Until then it names what package policy holds of it.
package teams

import "sluice/policy"

// The names of package policy.
type (
	File         = policy.Teams
	Team         = policy.Team
	Key          = policy.Key
	MintedKey    = policy.MintedKey
	Unit         = policy.Unit
	Period       = policy.Period
	Rate         = policy.Rate
	Quota        = policy.Quota
	AccountLimit = policy.AccountLimit
	Price        = policy.Price
	Fault        = policy.Fault
	Faults       = policy.Faults
)

// The names of package policy.
const (
	UnitRequests = policy.UnitRequests
	UnitTokens   = policy.UnitTokens
	UnitImages   = policy.UnitImages
	UnitSpend    = policy.UnitSpend
	PeriodDay    = policy.PeriodDay
	PeriodMonth  = policy.PeriodMonth
	Nano         = policy.Nano
	MaxAmount    = policy.MaxAmount
	OtherModel   = policy.OtherModel
)

// The names of package policy.
var (
	Units      = policy.Units
	Periods    = policy.Periods
	Parse      = policy.ParseTeams
	MintKey    = policy.MintKey
	Nearest    = policy.Nearest
	ParseModes = policy.ParseModes
)
