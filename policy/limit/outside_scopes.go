package limit

import (
	"cmp"
	"strings"
	"sync/atomic"

	"sluice/policy"
	"sluice/policy/teams"
)

// OutsideFor returns the scopes outside of the teams that apply to a model where there is no accounts file: see [Outsides.For].
func OutsideFor(file *teams.File, model string) []Scope {
	return new(Outsides).For(file, nil, model)
}

// Outsides keeps the scopes with quotas, which are the same for all requests on an account by one reading of the files. The zero
// Outsides is ready for use, and safe for concurrent use.
type Outsides struct {
	of PerTeam[atomic.Pointer[quotedScopes]]
}

// quotedScopes are the scopes that have these quotas.
type quotedScopes struct {
	account, house *teams.Team
	scopes         []Scope
}

// For returns the scopes outside of the teams that apply to work on an account: those of its rates for the model, and behind them those
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

// HouseOf returns the scope of all teams together, whose quotas those are.
func HouseOf(document *teams.Team) Scope { return quotedScope(ScopeHouse, document) }

func quotedScope(kind ScopeKind, document *teams.Team) Scope {
	s := ScopeOf(kind, document.ID, nil, document.Quotas)
	s.Document = document
	return s
}

// AccountFor returns the scopes of the rates of the account main that apply to a model; nil: none do.
func AccountFor(limits []teams.AccountLimit, model string) []Scope { return ratesOf("", limits, model) }

// ratesOf returns the scopes of an account's rates that apply to a model. They are named by the models, so that a reload that moves them
// in the file changes no name, and behind the id of an account other than main, whose names have none: its buckets are older than accounts.
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

// AccountMark is an account's mark in a hold's text, behind the team, and in the ledger, behind the endpoint: @ and the id. That of main is
// empty, so rows and holds from before there were accounts are main's.
func AccountMark(account string) string {
	if accountOf(account) == "" {
		return ""
	}
	return "@" + account
}
