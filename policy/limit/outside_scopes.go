package limit

import (
	"cmp"
	"strings"
	"sync/atomic"

	"sluice/policy"
	"sluice/policy/teams"
)

// OutsideFor returns the scopes outside of the teams that apply to a model without an accounts file: see [Outsides.For]. For tests.
func OutsideFor(file *teams.File, model string) []Scope {
	return new(Outsides).For(file, nil, model)
}

// Outsides keeps the scopes with quotas, which are the same for all requests on an account until the files are read again. The zero
// Outsides is ready for use, and safe for concurrent use.
type Outsides struct {
	of teams.PerTeam[atomic.Pointer[quotedScopes]]
}

// quotedScopes are the scopes that have these quotas.
type quotedScopes struct {
	account, house *teams.Team
	scopes         []Scope
}

// For returns the scopes outside of the teams that apply to work on an account: those of its rates for the model, and after them those
// that have quotas, the account's and the house's. A nil account is main without an accounts file, whose rates are those of the teams
// file. Nil: none apply. The list MUST NOT be changed.
func (o *Outsides) For(file *teams.File, account *teams.Account, model string) []Scope {
	var limits []teams.AccountLimit
	if account == nil {
		account, limits = onlyAccount, file.Account
	} else {
		limits = account.Limits
	}
	list := ratesOf(account.ID, limits, model)
	house := file.House.Quotas()
	if account.Quotas == nil && house == nil {
		return list
	}
	kept := o.of.Get(account.ID)
	quoted := kept.Load()
	if quoted == nil || quoted.account != account.Quotas || quoted.house != house {
		quoted = &quotedScopes{account.Quotas, house, quotedOf(account.Quotas, house)}
		kept.Store(quoted)
	}
	if list == nil {
		return quoted.scopes
	}
	return append(list, quoted.scopes...)
}

// onlyAccount is the account without an accounts file.
var onlyAccount = &teams.Account{ID: teams.MainAccount}

func quotedOf(account, house *teams.Team) (list []Scope) {
	if account != nil {
		list = append(list, quotedScope(ScopeAccount, account))
	}
	if house != nil {
		list = append(list, HouseOf(house))
	}
	return list
}

// HouseOf returns the scope of all teams together, with the document's quotas.
func HouseOf(document *teams.Team) Scope { return quotedScope(ScopeHouse, document) }

func quotedScope(kind ScopeKind, document *teams.Team) Scope {
	s := ScopeOf(kind, document.ID, nil, document.Quotas)
	s.Document = document
	return s
}

// ratesOf returns the scopes of an account's rates that apply to a model. A scope is named by its models, so that a reload that moves
// it in the file does not rename it, after the id of its account. Main's scopes have no id in front: its buckets are older than
// accounts.
func ratesOf(account string, limits []teams.AccountLimit, model string) (list []Scope) {
	for _, l := range limits {
		if l.Models != nil && !policy.MatchAny(l.Models, model) {
			continue
		}
		names := make([]string, len(l.Models))
		for i, p := range l.Models {
			names[i] = string(p)
		}
		name := strings.Join(names, ",")
		if of := accountOf(account); of != "" {
			name = of + " " + name // no pattern has a space
		}
		list = append(list, ScopeOf(ScopeAccount, name, l.Rates, nil))
	}
	return list
}

// accountOf is an account's id as holds and rows of the ledger have it: that of main is empty.
func accountOf(id string) string {
	if id == teams.MainAccount {
		return ""
	}
	return id
}

// AccountName is an account's id as reports have it: main, if it is empty.
func AccountName(id string) string { return cmp.Or(id, teams.MainAccount) }

// AccountMark is an account's mark in a hold's text, after the team, and in the ledger, after the endpoint: @ and the id. That of main is
// empty, so rows and holds from before there were accounts are main's.
func AccountMark(account string) string {
	if accountOf(account) == "" {
		return ""
	}
	return "@" + account
}
