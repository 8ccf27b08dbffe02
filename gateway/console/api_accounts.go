package console

import (
	"encoding/json"
	"time"

	"sluice/gateway/console/figures"
	"sluice/policy"
	"sluice/policy/account"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Account is an account at the service, as the answering replica knows it.
type Account struct {
	ID        string           `json:"id"`
	Region    string           `json:"region"` // may be empty
	URL       string           `json:"url"`    // without user and password
	Key       string           `json:"key"`    // masked
	State     account.State    `json:"state"`  // also "removed": used this month, but no longer in the accounts file
	Why       string           `json:"why"`    // the service's answer; empty: nothing is wrong
	Since     *time.Time       `json:"since"`  // nil: from the start
	Cooling   []Cooling        `json:"cooling"`
	Weight    int              `json:"weight"`
	InFlight  int              `json:"in_flight"`
	Failovers map[string]int64 `json:"failovers"` // to other accounts since the start, by reason
	Rates     []AccountRate    `json:"rates"`
	Quotas    []AccountQuota   `json:"quotas"`
	Today     *Amounts         `json:"today"` // nil: the ledger cannot be read
	Month     *Amounts         `json:"month"` // likewise
}

// Cooling is a model for which the account is not used for a while.
type Cooling struct {
	Model string    `json:"model"`
	Until time.Time `json:"until"`
}

// AccountRate is a rate of an account.
type AccountRate struct {
	Models []policy.Pattern `json:"models"` // their requests share the rate; nil: all models
	Unit   unit.Name        `json:"unit"`
	Per    string           `json:"per"`
	Limit  int64            `json:"limit"`
	Burst  int64            `json:"burst"`
}

// AccountQuota is a quota of all work on an account, as last known. Spend is in the currency.
type AccountQuota struct {
	Unit   unit.Name    `json:"unit"`
	Period teams.Period `json:"period"`
	Limit  json.Number  `json:"limit"`
	Used   json.Number  `json:"used"`
	Held   json.Number  `json:"held"`
}

func accountOf(l *figures.AccountLine, counted bool, m unit.Money) Account {
	a := Account{
		ID: l.ID, Region: l.Region, URL: l.Address, Key: l.Key, State: l.State, Why: l.Why, Since: orNil(l.Since), Weight: l.Weight,
		InFlight: l.InFlight, Cooling: []Cooling{}, Failovers: map[string]int64{}, Rates: []AccountRate{}, Quotas: []AccountQuota{},
	}
	for _, r := range l.Cooling {
		a.Cooling = append(a.Cooling, Cooling{r.Model, r.Until.UTC()})
	}
	if l.Failovers != nil {
		a.Failovers = l.Failovers
	}
	for _, of := range l.Limits {
		for _, r := range of.Rates {
			a.Rates = append(a.Rates, AccountRate{of.Models, r.Unit, r.PerText, r.Limit, r.Burst})
		}
	}
	for i := range l.Quotas {
		q := &l.Quotas[i]
		number := func(n int64) json.Number { return json.Number(m.Written(q.Unit, n)) }
		a.Quotas = append(a.Quotas, AccountQuota{q.Unit, q.Period, number(q.Limit), number(q.Used), number(q.Held)})
	}
	if counted {
		today, month := Amounts{l.Today.Used, m}, Amounts{l.Month.Used, m}
		a.Today, a.Month = &today, &month
	}
	return a
}
