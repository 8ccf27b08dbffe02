package teams

import "sluice/policy"

// File is one reading of the teams file. It never changes, so any number of requests may use it while a newer one
// takes its place; what its fields point to must not be changed either. The zero File has no teams and knows no key.
type File struct {
	// Currency is the word for money in reports, "CNY". Empty: the file names none, and reports show bare numbers.
	Currency string
	// List holds the teams in the order of the file, disabled ones too.
	List []*Team
	// Account holds the upstream account's own limits, shared by all teams, in the order of the file. Nil: none.
	Account []AccountLimit
	// Prices holds the prices in the order of the file; the first whose pattern matches counts. Nil: none.
	Prices []Price

	warnings []string
	keys     map[digest]keyOwner
	byID     map[string]*Team
	labels   labels
}

// Warnings lists what the file allows and its author may not have meant, one line each, in the order of the file.
func (t *File) Warnings() []string { return append([]string(nil), t.warnings...) }

// Team returns the team with this id, or nil.
func (t *File) Team(id string) *Team { return t.byID[id] }

// Price returns the first price whose pattern matches the model's name; ok is false where none does.
func (t *File) Price(model string) (price Price, ok bool) {
	for _, p := range t.Prices {
		if p.Pattern.Match(model) {
			return p, true
		}
	}
	return Price{}, false
}

// Team is what the file says about one team, with the file's defaults filled in.
type Team struct {
	// ID names the team in the log, the metrics and the state: ^[a-z0-9][a-z0-9-]{0,62}$, unique in the file.
	ID string
	// Disabled makes every key of the team unusable. Default false.
	Disabled bool
	// Keys are the team's keys in the order of the file; two valid at once let a team rotate. May be empty.
	Keys []Key
	// Models are the patterns of the models the team may ask for. Nil: all.
	Models []policy.Pattern
	// Endpoints are the endpoints the team may use. Nil: all.
	Endpoints []policy.Endpoint
	// Rates are the team's rates, at most one per unit, ordered requests, tokens, images. Nil: none.
	Rates []Rate
	// Quotas are the team's quotas, at most one per unit and period, ordered by unit as Units is, day before month. Nil: none.
	Quotas []Quota
	// Concurrent is how many requests may be in flight, over all replicas. 0: any number.
	Concurrent int
	// OpenTasks is how many tasks may be under way. 0: any number.
	OpenTasks int
	// Shadow: rates, quotas, Concurrent and OpenTasks refuse nothing and would-be refusals are reported. Default false.
	Shadow bool
	// Modes are the team's modes by rule id, over the gateway's. Nil: none.
	Modes policy.Modes
}

// MayUse reports whether the team may use the endpoint.
func (t *Team) MayUse(endpoint policy.Endpoint) bool {
	if t.Endpoints == nil {
		return true
	}
	for _, e := range t.Endpoints {
		if e == endpoint {
			return true
		}
	}
	return false
}

// MayAsk reports whether the team may ask for the model, whose name is compared as decoded, letter for letter.
func (t *Team) MayAsk(model string) bool { return t.Models == nil || policy.MatchAny(t.Models, model) }
