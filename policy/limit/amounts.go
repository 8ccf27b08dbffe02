package limit

import "sluice/policy/unit"

// Amounts is an amount of each unit, in the order of the table of units.
type Amounts = unit.Amounts

// The units as indices of Amounts.
const (
	Requests = unit.Requests
	Tokens   = unit.Tokens
	Images   = unit.Images
	Spend    = unit.Spend
)
