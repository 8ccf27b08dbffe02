package main

import (
	"net/http"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
)

// leastLate is how long after a day requests of it may still be charged; the tasks of one may be even later.
const leastLate = 49 * time.Hour

// openFigures returns what the console shows of traffic, limits, money and tasks.
func (p *process) openFigures() *figures.Figures {
	deps := figures.Deps{
		Teams: p.inForce.file.Load, Accounts: p.accounts, Lately: p.lately, Tasks: p.tasks.claims, Running: p.gateway.InFlight,
		Faults: func() []figures.Fault { return faultyChecks(p.checks) }, Queued: p.bounds.add(figures.ReadingBound), Late: max(leastLate, p.TaskTTL+2*time.Hour), Now: time.Now,
	}
	if p.redis != nil {
		deps.Days, deps.Versions = figures.NewRedisSums(p.redis), p.versions
	}
	return figures.New(deps)
}

// faultyChecks are the lines of readiness that are not ok.
func faultyChecks(checks []admin.Check) (list []figures.Fault) {
	for _, check := range checks {
		if err := check.State(); err != nil {
			list = append(list, figures.Fault{Name: check.Name, Text: err.Error()})
		}
	}
	return list
}

// consolePages are the console's pages.
func (p *process) consolePages(teams *console.Registry, numbers *figures.Figures) http.Handler {
	return pages.New(pages.Deps{
		Teams: teams, Figures: numbers, Config: p.shownSettings, Modes: p.Rules, Prefix: p.HeaderPrefix, Currency: p.gateway.Currency, Now: time.Now,
		TraceURL: string(p.TraceURLTemplate), Provider: p.ProviderName, Crowded: p.bounds.add(pages.LiveBound),
	})
}

// shownSettings are the settings as sluice check prints them.
func (c *configuration) shownSettings() pages.Config {
	out := pages.Config{Version: readBuild().version, Warnings: c.warnings}
	values, defaults := c.values(), defaultValues()
	for _, name := range settingNames {
		out.Settings = append(out.Settings, pages.Setting{Name: name, Value: values[name], Set: values[name] != defaults[name]})
	}
	return out
}

// defaultValues are the settings of an empty environment.
func defaultValues() map[string]string {
	s, _ := loadSettings(nil) // its faults are the required settings
	return s.values()
}

// pictureSources are the hosts from which pages may show pictures of tasks.
func (s settings) pictureSources() []string {
	sources := make([]string, len(s.ResultHosts))
	for i, host := range s.ResultHosts {
		sources[i] = string(host)
	}
	return sources
}
