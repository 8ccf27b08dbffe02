package account

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/spelling"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
)

// Fit compares the accounts with the teams that they serve. The faults are what cannot work: rates in both files, a
// team without an account, a model that no account serves. unknown are the teams that accounts name and the file
// lacks: they are wrong only if the directory lacks them, too.
func Fit(accounts *teams.Accounts, file *teams.File) (faults, unknown strictyaml.Faults) {
	if !accounts.NoFile && len(file.Account) > 0 && slices.ContainsFunc(accounts.List,
		func(a *teams.Account) bool { return a.Limits != nil }) {
		faults = append(faults, strictyaml.Fault{
			Field: "account", Text: "the account has rates in the teams file and in the accounts file", Allowed: "only in the accounts file",
		})
	}
	for _, team := range file.List {
		if !team.Disabled {
			faults = append(faults, fitTeam(accounts, file, team)...)
		}
	}
	named := offered(file)
	for i, p := range file.Prices {
		named[fmt.Sprintf("prices[%d].model", i)] = p.Pattern
	}
	for _, field := range slices.Sorted(maps.Keys(named)) {
		if p := named[field]; !servePattern(accounts.List, p) {
			faults = append(faults, strictyaml.Fault{
				Field: field, Text: "no account serves " + string(p),
				Allowed: "a model that is among the models of an account",
			})
		}
	}
	return faults, unknownTeams(accounts, file)
}

// Warnings lists settings that are possibly unintended, one line each: teams and models that get no new work because
// all accounts that serve them drain, and models that an account does not serve because of its quota of spend.
func Warnings(accounts *teams.Accounts, file *teams.File) []string {
	return append(drained(accounts, file), unpriced(accounts, file)...)
}

// unpriced lists the models that accounts with a quota of spend do not serve, because they may have no price.
func unpriced(accounts *teams.Accounts, file *teams.File) (all []string) {
	for _, a := range accounts.List {
		models := a.Models
		if models == nil {
			models = []policy.Pattern{"*"}
		}
		for _, p := range models {
			if missing := file.Prices.Missing(p, math.MaxInt); missing != "" && spends(a) {
				all = append(all, "account "+a.ID+" has a spend quota and no single "+missing+" covers "+string(p)+
					": it does not serve models without a price")
			}
		}
	}
	return all
}

func drained(accounts *teams.Accounts, file *teams.File) (all []string) {
	for _, team := range file.List {
		serve := accounts.For(team)
		if team.Disabled || len(serve) == 0 {
			continue
		}
		work := weighted(serve)
		if len(work) == 0 {
			all = append(all, "team "+team.ID+" gets no new work, because each account that serves it has weight 0")
			continue
		}
		for _, p := range modelsOf(team) {
			if of := policy.Pattern(file.Resolve(string(p))); servePattern(serve, of) && !servePattern(work, of) {
				all = append(all, "team "+team.ID+" gets no new work with "+string(p)+", because each of its accounts that serves that has weight 0")
			}
		}
	}
	named, work := offered(file), weighted(accounts.List)
	for _, field := range slices.Sorted(maps.Keys(named)) {
		if p := named[field]; servePattern(accounts.List, p) && !servePattern(work, p) {
			all = append(all, field+": "+string(p)+" gets no new work, because each account that serves it has weight 0")
		}
	}
	return all
}

// weighted are the accounts that take new work.
func weighted(accounts []*teams.Account) []*teams.Account {
	return slices.DeleteFunc(slices.Clone(accounts), func(a *teams.Account) bool { return a.Weight == 0 })
}

// offered are the models that are offered to every team, by their field of the teams file.
func offered(file *teams.File) map[string]policy.Pattern {
	named := map[string]policy.Pattern{}
	for i, model := range file.Catalogue {
		named[fmt.Sprintf("catalogue[%d]", i)] = policy.Pattern(model.ID)
	}
	for _, a := range file.Aliases {
		named["aliases."+string(a.Pattern)] = policy.Pattern(a.Model)
	}
	return named
}

// modelsOf are the model patterns of a team and its keys, each once.
func modelsOf(team *teams.Team) []policy.Pattern {
	models := slices.Clone(team.Models)
	for i := range team.Keys {
		models = append(models, team.Keys[i].Models...)
	}
	slices.Sort(models)
	return slices.Compact(models)
}

// fitTeam finds the work of a team that no account does.
func fitTeam(accounts *teams.Accounts, file *teams.File, team *teams.Team) (faults strictyaml.Faults) {
	serve := accounts.For(team)
	if len(serve) == 0 {
		why := "every account names other teams"
		if team.Regions != nil {
			why = "none that serves it is in " + strings.Join(team.Regions, " or ")
		}
		return strictyaml.Faults{{Text: "team " + team.ID + " has no account: " + why, Allowed: "an account that serves the team"}}
	}
	for _, p := range modelsOf(team) {
		if !servePattern(serve, policy.Pattern(file.Resolve(string(p)))) {
			faults = append(faults, strictyaml.Fault{
				Text:    "team " + team.ID + " may use " + string(p) + ", which no account of it serves",
				Allowed: "a model that is among the models of its accounts",
			})
		}
	}
	return faults
}

// servePattern reports whether one of the accounts serves some model of the pattern.
func servePattern(accounts []*teams.Account, p policy.Pattern) bool {
	return slices.ContainsFunc(accounts, func(a *teams.Account) bool { return a.Models == nil || slices.ContainsFunc(a.Models, p.Meets) })
}

// unknownTeams finds the teams that accounts name and the file lacks.
func unknownTeams(accounts *teams.Accounts, file *teams.File) (unknown strictyaml.Faults) {
	var known []string
	for _, team := range file.List {
		known = append(known, team.ID)
	}
	for i, a := range accounts.List {
		for j, id := range a.Teams {
			if file.Team(id) != nil {
				continue
			}
			f := strictyaml.Fault{Field: fmt.Sprintf("accounts[%d].teams[%d]", i, j), Text: "no team is called " + id, Allowed: "the ids of teams"}
			if near := spelling.Nearest(id, known); near != "" {
				f.Advice = "meant " + near + "?"
			}
			unknown = append(unknown, f)
		}
	}
	return unknown
}
