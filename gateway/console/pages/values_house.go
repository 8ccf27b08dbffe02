package pages

// MoneyQuery chooses what Money adds up.
type MoneyQuery struct {
	From, To string // days in UTC, 2026-11-21
	By       string // day, team, model, endpoint or tag
	Team     string // empty: all
}

// Money is the spend of some days.
type Money struct {
	Rows  []MoneyRow // by spend, the largest first; by day the newest first
	Days  []DayUse   // every day from From to To
	Total Use
	Month Month
}

// MoneyRow is the use under one name.
type MoneyRow struct {
	Name string
	Use
}

// Month is the current month in UTC, in 10⁻⁹ of the currency.
type Month struct {
	Name     string // 2026-11
	Spent    int64
	PerDay   int64 // mean of the last seven whole days
	Forecast int64 // spent, and PerDay for what is left of the month
}

// Rule is a row of the table of rules.
type Rule struct {
	ID, When, Field, Allowed, From, Mode string
	Set                                  bool // the mode is not the default one
	Warned, Refused                      int64
	Counted                              bool // Warned and Refused are known
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
