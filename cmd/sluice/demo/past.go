package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"
	mrand "math/rand/v2"
	"sync/atomic"
	"time"

	"sluice/gateway/stores"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// PastDays is how many days before today the demonstration makes up.
const PastDays = 29

// pastSample is the number of requests before the last day that one made-up request represents.
const pastSample = 20

// Clock is the clock of the demonstration's accounts: it runs through the made-up past, and then shows the real time.
type Clock struct{ back atomic.Int64 }

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return time.Now().Add(-time.Duration(c.back.Load())) }

// set moves the clock. It never goes back.
func (c *Clock) set(at time.Time) { c.back.Store(int64(time.Since(at))) }

// pastTeam is the past behaviour of a team of the demonstration.
type pastTeam struct {
	ID      string
	models  []string
	share   float64 // requests a minute at the busiest time
	members string  // in the directory's document; empty: the team is in the teams file
}

// PastTeams are all teams of the demonstration.
var PastTeams = []pastTeam{
	{"search", []string{"llm-max", "gen2.6-image"}, 30, ""},
	{"ads", []string{"llm-plus", "llm-image-2.0"}, 20, ""},
	{"maps", []string{"llm-plus", "gen2.6-image"}, 15, `{"description": "Maps and places", "quotas": {"images": {"day": 15000},` +
		` "spend": {"month": 80000}}, "open_tasks": 20}`},
	{"support-bot", []string{"llm-max"}, 40, `{"description": "Answers to customers", "rates": {"requests": {"per": "1m", "limit": 300}},` +
		` "quotas": {"tokens": {"day": 90000000}}}`},
	{"translation", []string{"llm-turbo"}, 10, `{"description": "Übersetzungen · 翻译 · ترجمة", "rates": {"tokens": {"per": "1m",` +
		` "limit": 200000}}, "concurrent": 16}`},
	{"newsletter", []string{"gen2.5-t2i"}, 4, `{"description": "Pictures for the Friday mail", "quotas": {"images": {"month": 150000}},` +
		` "shadow": true}`},
}

// pastRules are rules that requests of an endpoint broke.
var pastRules = map[policy.Endpoint]struct{ refused, warned string }{
	policy.EndpointText:  {"text.top_p", "text.stream.header"},
	policy.EndpointImage: {"image.n", "image.prompt.length"},
}

// Past is where the made-up past is written.
type Past struct {
	Teams     *teams.File // has the prices
	Directory teams.Store // for teams that are not in the file
	Balances  stores.Balances
	Recent    *recent.Collector
	Clock     *Clock // of the accounts
}

// past makes up the history of the demonstration's teams.
type past struct {
	Past
	random *mrand.Rand
	due    map[pastRow]limit.Charge // not in the ledger yet
}

// pastRow names a row of the ledger.
type pastRow struct {
	team, model string
	endpoint    policy.Endpoint
	estimated   bool
}

// MakePast adds teams to the directory and makes up a month of use for all, the last day in detail. Readers treat it like real use.
func MakePast(ctx context.Context, p Past) error {
	m := &past{Past: p, random: mrand.New(mrand.NewPCG(1, 2)), due: map[pastRow]limit.Charge{}}
	if err := m.addTeams(ctx); err != nil {
		return err
	}
	now := time.Now().UTC()
	begins := now.Add(-24 * time.Hour).Truncate(time.Minute)
	for at := now.AddDate(0, 0, -PastDays).Truncate(time.Hour); at.Before(begins); at = at.Add(time.Hour) {
		for i := range PastTeams {
			for range m.many(PastTeams[i].share * busy(at) * 60 / pastSample) {
				m.request(&PastTeams[i], pastSample)
			}
		}
		m.post(at)
	}
	for at := begins; at.Add(time.Minute).Before(now); at = at.Add(time.Minute) { // whole minutes: no record is in the future
		for i := range PastTeams {
			for range m.many(PastTeams[i].share * busy(at)) {
				r := m.request(&PastTeams[i], 1)
				r.Time = at.Add(time.Duration(m.random.Int64N(int64(time.Minute - r.Duration%time.Minute))))
				m.Recent.Note(r, r.AppendLine(nil))
			}
		}
		if at.Minute() == 59 || now.Sub(at) <= 2*time.Minute {
			m.post(at)
			if err := m.Recent.Post(ctx); err != nil {
				return err
			}
		}
	}
	m.Clock.back.Store(0)
	return nil
}

// addTeams puts the teams that are not in the teams file into the directory.
func (m *past) addTeams(ctx context.Context) error {
	var all []error
	for _, t := range PastTeams {
		if t.members == "" {
			continue
		}
		team := teams.Spec{ID: t.ID, Members: map[string]json.RawMessage{}}
		err := json.Unmarshal([]byte(t.members), &team.Members)
		if err == nil {
			order := teams.Order{Who: "demo", Now: time.Now(), Reason: "so that there is something to see"}
			_, err = teams.Commit(ctx, m.Directory, order, func(teams.Document) (teams.Change, error) { return teams.CreateTeam{Team: team}, nil })
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// busy returns the teams' activity at a time: higher by day than by night, and on workdays than at weekends.
func busy(at time.Time) float64 {
	hour := float64(at.Hour()) + float64(at.Minute())/60
	day := 0.15 + 0.85*math.Pow(math.Sin(math.Pi*math.Mod(hour+18, 24)/24), 2)
	if d := at.Weekday(); d == time.Saturday || d == time.Sunday {
		day *= 0.4
	}
	return day
}

// many returns a random whole number with the given mean.
func (m *past) many(mean float64) int {
	mean *= 0.7 + 0.6*m.random.Float64()
	n := int(mean)
	if m.random.Float64() < mean-float64(n) {
		n++
	}
	return n
}

// request makes up a request and adds the cost of like such requests to what is due.
func (m *past) request(t *pastTeam, like int64) *telemetry.Record {
	model := t.models[m.random.IntN(len(t.models))]
	endpoint, kind, images := policy.EndpointText, "text", int64(0)
	costs := m.Teams.Prices.For(model, limit.CalendarOf(time.Now()).Day) // every model has a price
	if costs.Rates.Of(price.Image) > 0 {
		endpoint, kind, images = policy.EndpointImage, "image", 1+m.random.Int64N(2)
	}
	r := &telemetry.Record{
		ID: rand.Text(), Team: t.ID, Key: m.keyOf(t.ID), Client: "127.0.0.1", Method: "POST", Endpoint: string(endpoint), Kind: kind,
		Model: model, Status: 200, UpstreamStatus: 200,
		Duration: time.Duration(200+m.random.IntN(1800)) * time.Millisecond, Overhead: time.Duration(80+m.random.IntN(400)) * time.Microsecond,
		BytesIn: 400 + m.random.Int64N(2000), BytesOut: 600 + m.random.Int64N(4000),
	}
	r.FirstByte = r.Duration / 2
	luck := m.random.Float64()
	switch {
	case luck < 0.02:
		r.Status, r.Refusal = 429, []string{"admit/rate", "admit/quota", "throttle/concurrent"}[m.random.IntN(3)]
	case luck < 0.03:
		r.Status, r.Refusal = 400, "inspect/rules"
		r.Broken = []telemetry.BrokenRule{{ID: pastRules[endpoint].refused, Refused: true}}
	case luck < 0.035:
		r.Status, r.UpstreamStatus = 502, 502
	case luck < 0.05:
		r.Broken = []telemetry.BrokenRule{{ID: pastRules[endpoint].warned}}
	}
	if r.Refusal != "" {
		r.UpstreamStatus, r.Duration, r.FirstByte = 0, r.Overhead, r.Overhead
	}
	if r.Status != 200 {
		return r
	}
	bill := m.bill(costs, images)
	cost := limit.AmountsOf(&bill)
	r.Cost = telemetry.Cost{Known: true, Amounts: cost, Flag: telemetry.FlagExact}
	row := pastRow{t.ID, model, endpoint, images == 0 && luck > 0.95} // clients that leave in the middle of a text
	if row.estimated {
		r.Cost.Flag = telemetry.FlagEstimated
	}
	due, kinds := m.due[row], price.Sum{}
	for range like {
		due.Amounts = due.Amounts.Plus(cost)
		if !row.estimated {
			kinds.AddBill(&bill)
		}
	}
	due.Kinds = due.Kinds.Plus(kinds.ByKind())
	m.due[row] = due
	return r
}

// keyOf returns the id of a team's first key; empty: the team is of the directory, and has no key.
func (m *past) keyOf(team string) string {
	if t := m.Teams.Team(team); t != nil {
		return t.Keys[0].ID
	}
	return ""
}

// bill returns the bill of a request at a price. A part of a text's input hits the cache.
func (m *past) bill(p *price.Price, images int64) price.Bill {
	used := price.Usage{Images: images, Pixels: 1 << 20}
	if images == 0 {
		used.Input, used.Output, used.Cached = 200+m.random.Int64N(3000), 50+m.random.Int64N(1200), m.random.Int64N(200)
	}
	bill, _ := price.Of(p, &used)
	return bill
}

// post charges the teams at a time for what is due.
func (m *past) post(at time.Time) {
	m.Clock.set(at)
	for row, due := range m.due {
		hold := &limit.Hold{
			ID: rand.Text(), Team: &teams.Team{ID: row.team}, Key: m.keyOf(row.team), Model: row.model, Endpoint: row.endpoint,
			Amounts: due.Amounts, Lease: time.Minute,
		}
		verdict, err := m.Balances.Admit(context.Background(), hold)
		if err == nil && verdict.Held != nil {
			_, _ = m.Balances.Settle(context.Background(), &limit.Charge{
				Held: verdict.Held, Amounts: due.Amounts, Kinds: due.Kinds,
				Estimated: row.estimated,
			})
		}
	}
	clear(m.due)
}
