package pages

import "time"

// Rules are the table of rules, and how often requests broke them.
type Rules struct {
	Table   []Rule
	Counted bool      // the counts are known
	Since   time.Time // when they begin
	Refused int64     // requests that were refused for a rule, or for several
}

// Rule is a row of the table of rules.
type Rule struct {
	ID, When, Field, Allowed, From, Mode string
	Set                                  bool  // the mode is not the default one
	Warned, Refused                      int64 // how often a request broke it
}

// Proof is whether the audit is as it was written.
type Proof struct {
	Entries int
	Head    string   // SHA-256 of the last entry
	Faults  []string // nil: none
}

// Config is the effective settings.
type Config struct {
	Settings []Setting
	Warnings []string
	Version  string // of Sluice
}

// Setting is one setting. Secrets are hidden already.
type Setting struct {
	Name, Value string
	Set         bool // it is not the default
}
