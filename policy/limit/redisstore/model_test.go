package redisstore

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// model keeps the accounts of one team as one would on paper: in whole microseconds and whole units, without regard to
// speed. After every step of any history the forms must agree with it.
type model struct {
	rates  map[string]*modelRates // by the key that they are of; empty: the team's
	used   map[string]int64       // "20261121:tokens"
	held   map[string]int64
	holds  map[string]*modelHold
	ledger map[string]int64 // "20261121|llm-max|text|tokens", and of a part "20261121|tag|alpha|tokens"
	doubt  map[string]int64
	kinds  map[kindOf]kindUse

	partUsed, partHeld map[scopeDay]limit.Amounts
}

// modelRates are the buckets of one scope.
type modelRates struct {
	tat   [limit.RateCount]int64 // when each is full
	taken [limit.RateCount]bool  // it was used: until then it is full, whatever the rate
	rates [limit.RateCount]teams.Rate
}

// of returns the buckets of a key, or of the team.
func (m *model) of(key string) *modelRates {
	if m.rates[key] == nil {
		m.rates[key] = new(modelRates)
	}
	return m.rates[key]
}

// inside are the kinds of scopes inside the team.
var inside = []limit.ScopeKind{limit.ScopeTag, limit.ScopeKey}

type modelHold struct {
	limit.Held
	state   string // held, expired, settled
	due     int64
	charged limit.Amounts
	text    string // the account on which it is charged when its lease ends
	at      string // the account on which it was charged
	doubted bool
}

func newModel() *model {
	return &model{used: map[string]int64{}, held: map[string]int64{}, holds: map[string]*modelHold{}, ledger: map[string]int64{},
		doubt: map[string]int64{},
		kinds: map[kindOf]kindUse{}, partUsed: map[scopeDay]limit.Amounts{}, partHeld: map[scopeDay]limit.Amounts{},
		rates: map[string]*modelRates{}}
}

func refill(n int64, r teams.Rate) int64 { // rounded up
	return (n*r.Per.Microseconds() + r.Limit - 1) / r.Limit
}

func full(r teams.Rate) int64 { return refill(r.Burst, r) }

// reload brings the buckets to new rates: what is in them stays.
func (m *modelRates) reload(t *limit.Scope, now int64) {
	for i, r := range t.Rates {
		if r.Limit == 0 {
			continue
		}
		if old := m.rates[i]; m.taken[i] && r != old {
			behind := min(max(m.tat[i]-now, 0), 2*full(old))
			// exact: burst − level, in the new rate's microseconds, rounded up
			level := float64(old.Burst) - float64(behind)*float64(old.Limit)/float64(old.Per.Microseconds())
			level = min(level, float64(r.Burst))
			m.tat[i] = now + ceil((float64(r.Burst)-level)*float64(r.Per.Microseconds())/float64(r.Limit))
		}
		m.rates[i] = r
		m.tat[i] = min(m.tat[i], now+2*full(r))
	}
}

func ceil(x float64) int64 {
	n := int64(x)
	if float64(n) < x {
		n++
	}
	return n
}

func (m *model) each(h *limit.Held, with map[string]int64, sign int64) {
	for i, unit := range unit.Names {
		for _, period := range []int{h.Day, h.Month} {
			with[fmt.Sprintf("%d:%s", period, unit)] += sign * h.Amounts[i]
		}
	}
	for _, k := range inside {
		if of := (scopeDay{k, h.Day, h.Inner(k).Name()}); h.Inner(k).Counted() {
			held := m.partHeld[of]
			for i, n := range h.Amounts {
				held[i] += sign * n
			}
			m.partHeld[of] = held
		}
	}
}

// ofPart is what a value of the tag, or a key, used and holds, by quota number.
func (m *model) ofPart(k limit.ScopeKind, name string, date limit.Calendar) (used, held [limit.QuotaCount]int64) {
	for _, pair := range []struct {
		from map[scopeDay]limit.Amounts
		to   *[limit.QuotaCount]int64
	}{{m.partUsed, &used}, {m.partHeld, &held}} {
		for of, amounts := range pair.from {
			for i, n := range amounts {
				if of.kind == k && of.name == name && of.day == date.Day {
					pair.to[2*i] += n
				}
				if of.kind == k && of.name == name && of.day/100 == date.Month {
					pair.to[2*i+1] += n
				}
			}
		}
	}
	return used, held
}

func (m *model) post(h *modelHold, charge limit.Amounts, doubted bool, account string) {
	for i, unit := range unit.Names {
		change := charge[i] - h.charged[i]
		for _, k := range inside {
			part := h.Inner(k)
			if of := (scopeDay{k, h.Day, part.Name()}); part != "" {
				used := m.partUsed[of]
				used[i] += change
				m.partUsed[of] = used
			}
		}
		for _, name := range h.entries(h.at, string(unit)) {
			m.ledger[name] -= h.charged[i]
			if h.doubted {
				m.doubt[name] -= h.charged[i]
			}
		}
		for _, name := range h.entries(account, string(unit)) {
			m.ledger[name] += charge[i]
			if doubted {
				m.doubt[name] += charge[i]
			}
		}
		for _, period := range []int{h.Day, h.Month} {
			m.used[fmt.Sprintf("%d:%s", period, unit)] += change
		}
	}
	h.charged, h.doubted, h.at = charge, doubted, account
}

// entries are those of the ledgers for a unit, if the hold is charged on an account.
func (h *modelHold) entries(account, unit string) []string {
	names := []string{fmt.Sprintf("%d|%s|%s", h.Day, limit.LedgerName(h.Model, h.Endpoint, account), unit)}
	for _, k := range inside {
		if part := h.Inner(k); part.Name() != "" {
			names = append(names, fmt.Sprintf("%d|%s|%s|%s", h.Day, k, part.Name(), unit))
		}
	}
	return names
}

func (m *model) sweep(now int64) (n int) {
	for _, h := range m.holds {
		if h.state == "held" && h.due <= now {
			n++
			m.each(&h.Held, m.held, -1)
			m.post(h, h.Amounts, true, h.text)
			h.state = "expired"
		}
	}
	return n
}

func (m *model) tasks() (n int64) {
	for _, h := range m.holds {
		if h.state == "held" && h.Task {
			n++
		}
	}
	return n
}

func (m *model) admit(h *limit.Hold, t *limit.Terms, at time.Time) limit.Outcome {
	now := at.UnixMicro()
	m.sweep(now)
	scopes := m.rated(h.Key, t)
	for scope, of := range scopes {
		of.reload(scope, now)
	}
	if m.holds[h.ID] != nil {
		return limit.Admitted
	}
	date := limit.CalendarOf(at)
	fits := true
	for scope, of := range scopes {
		for i, r := range scope.Rates {
			if r.Limit > 0 && h.Amounts[i] > 0 && max(of.tat[i], now)+refill(h.Amounts[i], r)-full(r) > now {
				fits = false
			}
		}
	}
	for q, most := range t.Quotas {
		name := fmt.Sprintf("%d:%s", date.Period(q), unit.Names[q/2])
		if n := h.Amounts[q/2]; most != limit.None && n > 0 && m.used[name]+m.held[name]+n > most {
			fits = false
		}
	}
	for _, k := range inside {
		used, held := m.ofPart(k, h.Inner(k).Name(), date)
		for q, most := range t.Of(k).Quotas {
			if n := h.Amounts[q/2]; most != limit.None && n > 0 && used[q]+held[q]+n > most {
				fits = false
			}
		}
	}
	if h.Task && t.Tasks != limit.None && m.tasks() >= t.Tasks {
		fits = false
	}
	if !fits && !t.Shadow {
		return limit.Refused
	}
	held := &modelHold{
		Held: limit.Held{ID: h.ID, Team: h.Team.ID, Account: h.Account, Model: h.Model, Endpoint: h.Endpoint, Tag: h.Inner(limit.ScopeTag),
			Key: h.Inner(limit.ScopeKey), Amounts: h.Amounts, Day: date.Day, Month: date.Month, Task: h.Task},
		state: "held", text: h.Account, due: now + h.Lease.Microseconds(),
	}
	if fits {
		held.Rates = t.RateSet()
	}
	m.holds[h.ID] = held
	m.each(&held.Held, m.held, 1)
	if !fits {
		return limit.Shadowed
	}
	for scope, of := range scopes {
		for i, r := range scope.Rates {
			if r.Limit > 0 {
				if h.Amounts[i] > 0 {
					of.tat[i] = max(of.tat[i], now) + refill(h.Amounts[i], r)
				}
				of.taken[i] = of.taken[i] || h.Amounts[i] > 0
			}
		}
	}
	return limit.Admitted
}

// rated are the buckets of the scopes that have rates.
func (m *model) rated(key string, t *limit.Terms) map[*limit.Scope]*modelRates {
	scopes := map[*limit.Scope]*modelRates{&t.Scope: m.of("")}
	if t.Of(limit.ScopeKey).Rated {
		scopes[t.Of(limit.ScopeKey)] = m.of(key)
	}
	return scopes
}

func (m *model) settle(id string, charge limit.Amounts, estimated bool, t *limit.Terms, at time.Time) bool {
	h := m.holds[id]
	if h == nil || h.state == "settled" {
		return false
	}
	if h.state == "held" {
		m.each(&h.Held, m.held, -1)
	}
	h.state = "settled"
	m.post(h, charge, estimated, h.Account)
	now := at.UnixMicro()
	for scope, of := range m.rated(h.Key.Name(), t) {
		for i, r := range scope.Rates {
			if over := charge[i] - h.Amounts[i]; h.Rates.Of(scope.Kind).Has(i) && r.Limit > 0 && over != 0 {
				// Only the buckets that a settlement corrects are brought up to date.
				one := *of
				one.reload(scope, now)
				of.tat[i], of.rates[i] = one.tat[i], one.rates[i]
				if over > 0 {
					of.taken[i] = true
					of.tat[i] = min(max(of.tat[i], now)+refill(over, r), now+2*full(r))
				} else if of.taken[i] {
					of.tat[i] = max(of.tat[i]-(-over*r.Per.Microseconds()/r.Limit), now)
				}
			}
		}
	}
	return true
}

// known reports whether the state must still know a hold.
func (m *model) known(id string, at time.Time) bool {
	h := m.holds[id]
	return h != nil && at.UnixMicro() < h.due+limit.LateTruth.Microseconds()
}

// step is one event.
type step struct {
	Do        string // admit, again, settle, tick, back, sweep, extend, move, reload
	Hold      int    // which, counted from the first
	Amounts   limit.Amounts
	Tag, Key  string // empty: none
	Account   string
	Task      bool
	Estimated bool
	Parts     [6]int64 // of the tokens, what a settlement says of some kinds: maybe more than there are
	Lease     int      // seconds
	Move      int      // milliseconds
	Team      int      // which of the teams
}

var steps = rapid.Custom(func(t *rapid.T) step {
	small := rapid.Int64Range(0, 12)
	s := step{
		Do: rapid.SampledFrom([]string{"admit", "admit", "admit", "admit", "again", "settle", "settle", "settle", "tick", "tick", "back",
			"sweep", "extend", "move", "reload"}).Draw(t, "do"),
		Hold: rapid.IntRange(0, 20).Draw(t, "hold"), Lease: rapid.IntRange(1, 120).Draw(t, "lease"),
		Tag: rapid.SampledFrom([]string{"", "", "alpha", "b.e-t_a"}).Draw(t, "tag"),
		Key: rapid.SampledFrom([]string{"", keyOne, keyTwo, "jwt:some%20one@b"}).Draw(t, "key"), Task: rapid.Bool().Draw(t, "task"),
		Estimated: rapid.Bool().Draw(t, "estimated"), Team: rapid.IntRange(0, 5).Draw(t, "team"),
		Amounts: limit.Amounts{rapid.Int64Range(0, 1).Draw(t, "requests"), small.Draw(t, "tokens"), rapid.Int64Range(0, 3).Draw(t, "images"),
			small.Draw(t, "spend")},
	}
	s.Account = rapid.SampledFrom([]string{"", "", teams.MainAccount, "eu", "us-1"}).Draw(t, "account")
	for i := range s.Parts {
		s.Parts[i] = rapid.SampledFrom([]int64{0, 0, 1, 2, 5, 13}).Draw(t, "part")
	}
	s.Move = rapid.SampledFrom([]int{1, 100, 1000, 7000, 60_000, 3_600_000, 86_400_000}).Draw(t, "move")
	return s
})

var histories = rapid.SliceOfN(steps, 1, 60)

// modelTeams have rates of which one unit takes a whole number of microseconds.
var modelTeams = []string{
	"rates: {requests: {per: 1s, limit: 5}, tokens: {per: 10s, limit: 20}}\n    quotas: {tokens: {day: 30, month: 70}, spend: {day: " +
		"25}}\n    open_tasks: 3",
	"rates: {requests: {per: 1s, limit: 5, burst: 9}, tokens: {per: 10s, limit: 10, burst: 15}, images: {per: 1m, limit: 6}}\n    quotas: " +
		"{images: {day: 8}, requests: {month: 15}}",
	"shadow: true\n    rates: {tokens: {per: 1s, limit: 1}, images: {per: 1m, limit: 1}}\n    quotas: {spend: {day: 10, month: 12}}\n    " +
		"open_tasks: 1",
}

// tagTeams have quotas of each value of their tag, and one has none.
var tagTeams = []string{
	"tag_key: project\n    tag_quotas: {tokens: {day: 20, month: 26}, spend: {month: 0.000000018}, images: {day: 5}}",
	"tag_key: project\n    tag_quotas: {requests: {day: 6}, tokens: {month: 24}}\n    quotas: {tokens: {day: 60}}\n    rates: {tokens: " +
		"{per: 10s, limit: 20}}",
	"tag_key: project\n    shadow: true\n    tag_quotas: {tokens: {day: 12}}",
	"tag_key: project\n    quotas: {tokens: {day: 90}}",
}

// The keys of keyTeams.
const keyOne, keyTwo = "aaaaaaaaaaaa", "bbbbbbbbbbbb"

// keyLines are two keys with limits of their own, or without.
func keyLines(one, two string) string {
	return fmt.Sprintf("\n    keys: [{id: %s, sha256: \"%064x\"%s}, {id: %s, sha256: \"%064x\"%s}]", keyOne, 1, one, keyTwo, 2, two)
}

// keyTeams have keys with rates and quotas of their own, and one has none.
var keyTeams = []string{
	"rates: {requests: {per: 1s, limit: 5}}" + keyLines(", rates: {requests: {per: 1s, limit: 2}, tokens: {per: 10s, limit: 20}}, quotas: "+
		"{tokens: {day: 20, month: 26}, images: {day: 5}}", ""),
	"quotas: {tokens: {day: 60}}\n    tag_key: project\n    tag_quotas: {tokens: {day: 30}}" +
		keyLines(", quotas: {tokens: {month: 24}, spend: {day: 0.00000002}}", ", rates: {tokens: {per: 1s, limit: 4, burst: 12}}"),
	"shadow: true" + keyLines(", quotas: {tokens: {day: 12}}", ", rates: {images: {per: 1m, limit: 6}}"),
	"quotas: {tokens: {day: 90}}" + keyLines("", ""),
}

// oddTeams have rates of which neither a unit nor a whole bucket takes a whole number of microseconds.
var oddTeams = []string{
	"rates: {requests: {per: 1s, limit: 7, burst: 2}, tokens: {per: 10s, limit: 70, burst: 11}, images: {per: 1m, limit: 7, burst: 3}}",
	"rates: {requests: {per: 1s, limit: 3}, tokens: {per: 7s, limit: 30, burst: 8}, images: {per: 1m, limit: 11, burst: 2}}",
}

// play runs a history on a form and on the model and returns the first difference.
func (f *form) play(history []step, list []*teams.Team) error {
	m := newModel()
	team := list[0]
	for i, s := range history {
		if f.memory != nil && s.Do == "back" {
			continue // memory has its own clock, which never goes back: see TestFX2
		}
		if f.before != nil {
			f.before()
		}
		if err := f.step(m, s, &team, list); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, s, err)
		}
		if err := f.compare(m, team); err != nil {
			return fmt.Errorf("after step %d, %+v: %w", i, s, err)
		}
	}
	return nil
}

func (f *form) step(m *model, s step, team **teams.Team, list []*teams.Team) error {
	t := limit.TermsOf(*team)
	now := f.clock.Now()
	switch s.Do {
	case "admit", "again":
		h := hold(id(len(m.holds)), *team, s.Amounts)
		h.Account, h.Tag, h.Key, h.Task, h.Lease = s.Account, s.Tag, s.Key, s.Task, time.Duration(s.Lease)*time.Second
		if s.Do == "again" {
			if h.ID = id(s.Hold); !m.known(h.ID, now) || m.holds[h.ID].state == "settled" {
				return nil
			}
		}
		t = limit.TermsFor(h.Team, h.Key)
		want := m.admit(&h, &t, now)
		got, err := f.tryAdmit(h)
		if err != nil || got.Outcome != want {
			return fmt.Errorf("admitted %d (%w), the model says %d", got.Outcome, err, want)
		}
		if want == limit.Refused && (got.Fault == limit.LimitNone || got.Wait <= 0) {
			return fmt.Errorf("refused by %d for %v", got.Fault, got.Wait)
		}
	case "settle":
		h := m.holds[id(s.Hold)]
		if !m.known(id(s.Hold), now) {
			return nil
		}
		bill := s.bill()
		t = limit.TermsFor(*team, h.Key.Name())
		want := m.settle(h.ID, s.Amounts, s.Estimated, &t, now)
		if want {
			m.postKinds(h, &bill)
		}
		got, err := f.tryCharge(&limit.Charge{Held: &h.Held, Team: *team, Amounts: s.Amounts, Bill: &bill, Estimated: s.Estimated})
		if err != nil || got != want {
			return fmt.Errorf("settled %v (%w), the model says %v", got, err, want)
		}
	case "tick":
		f.clock.Move(time.Duration(s.Move) * time.Millisecond)
	case "back":
		f.clock.Move(-time.Duration(s.Move) * time.Millisecond)
	case "sweep":
		m.sweep(now.UnixMicro())
		f.sweep("search")
	case "extend":
		if h := m.holds[id(s.Hold)]; h != nil {
			if h.state == "held" {
				h.due = max(h.due, now.UnixMicro()+int64(s.Lease)*1e6)
				if f.memory == nil { // in memory a hold moves by Move alone, which never leaves it where it was
					h.text = h.Account
				}
			}
			f.extend(&h.Held, time.Duration(s.Lease)*time.Second)
		}
	case "move":
		if h := m.holds[id(s.Hold)]; h != nil {
			if h.Account = s.Account; !s.Estimated && h.state == "held" { // else the state hears of it with the settlement
				h.text = s.Account
				f.move(&h.Held)
			}
		}
	case "reload":
		*team = list[s.Team%len(list)]
	}
	return nil
}

// move moves a hold to its account, which has no limits.
func (f *form) move(h *limit.Held) {
	f.Helper()
	if f.memory == nil {
		f.extend(h, 0)
		return
	}
	v, err := f.memory.Move(f.Context(), h, &limit.Hold{Team: &teams.Team{ID: h.Team}, Account: h.Account})
	if err != nil || v.Held == nil || v.Held.Account != strings.TrimPrefix(h.Account, teams.MainAccount) {
		f.fail("%+v, %v", v, err)
	}
}

// compare checks the form's state against the model: used and held of the running periods, buckets, tasks, and the ledger.
// This also checks I2 (held is the sum of open holds) and I3 (used is the sum of the ledger), which hold in the model by
// construction.
func (f *form) compare(m *model, team *teams.Team) error {
	t := limit.TermsOf(team)
	now := f.clock.Now()
	const swept = 16 // by one admission, in every form
	for n := m.sweep(now.UnixMicro()); n > swept; n -= swept {
		f.look(team) // an admission sweeps no more than a batch
	}
	s := f.look(team)
	date := limit.CalendarOf(now)
	for q := range limit.QuotaCount {
		name := fmt.Sprintf("%d:%s", date.Period(q), unit.Names[q/2])
		if s.Used[q] != m.used[name] || s.Held[q] != m.held[name] {
			return fmt.Errorf("%s: used %d held %d, the model says %d and %d", name, s.Used[q], s.Held[q], m.used[name], m.held[name])
		}
	}
	if s.Tasks != m.tasks() {
		return fmt.Errorf("%d open tasks, the model says %d", s.Tasks, m.tasks())
	}
	for _, k := range inside {
		if err := f.compareParts(m, team, k); err != nil {
			return err
		}
	}
	if err := m.of("").compare(&t.Scope, s.Rates, now.UnixMicro()); err != nil {
		return err
	}
	if err := f.compareLedger(m); err != nil {
		return err
	}
	return f.compareKinds(m)
}

// compare checks how full buckets are.
func (m *modelRates) compare(t *limit.Scope, got [limit.RateCount]limit.Fill, now int64) error {
	m.reload(t, now) // reading brings the buckets up to date
	const slack = 1
	for i, r := range t.Rates {
		if r.Limit == 0 {
			continue
		}
		want := max(m.tat[i]-now, 0)
		if d := got[i].Full.Microseconds() - want; d < -slack || d > slack {
			return fmt.Errorf("%s full in %v, the model says %d µs", r.Unit, got[i].Full, want)
		}
	}
	return nil
}

// compareParts checks what each value of the tag, or each key, used and holds, and the rates of keys.
func (f *form) compareParts(m *model, team *teams.Team, k limit.ScopeKind) error {
	date := limit.CalendarOf(f.clock.Now())
	got, want, fills := map[string][2]int64{}, map[string][2]int64{}, map[string]*[limit.RateCount]limit.Fill{}
	for _, s := range f.lookInside(team, k) {
		if s.Used+s.Held != 0 && s.Period != "" {
			got[s.Of+" "+s.Name()] = [2]int64{s.Used, s.Held}
		}
		if s.Period == "" {
			if fills[s.Of] == nil {
				fills[s.Of] = new([limit.RateCount]limit.Fill)
			}
			fills[s.Of][unit.Index(s.Unit)].Full = s.Reset
		}
	}
	for _, all := range []map[scopeDay]limit.Amounts{m.partUsed, m.partHeld} {
		for of := range all {
			t := limit.TermsFor(team, of.name)
			used, held := m.ofPart(k, of.name, date)
			for q, most := range t.Of(k).Quotas {
				if s := (limit.Standing{Unit: unit.Names[q/2], Period: teams.Periods[q%2], Scope: k}); of.kind == k && most != limit.None &&
					used[q]+held[q] != 0 {
					want[of.name+" "+s.Name()] = [2]int64{used[q], held[q]}
				}
			}
		}
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("by %s is used and held %v, the model says %v", k, got, want)
	}
	for key, of := range fills {
		t := limit.TermsFor(team, key)
		if err := m.of(key).compare(t.Of(k), *of, f.clock.Now().UnixMicro()); err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
	}
	return nil
}

// lookTags is how the values of a team's tag stand.
func (f *form) lookTags(team *teams.Team) []limit.Standing { return f.lookInside(team, limit.ScopeTag) }

func (f *form) lookInside(team *teams.Team, k limit.ScopeKind) (list []limit.Standing) {
	f.Helper()
	var err error
	if f.memory != nil {
		list, err = f.memory.LookInside(f.Context(), team, k, f.clock.Now())
	} else {
		list, err = f.redis.LookInside(f.Context(), team, k, f.clock.Now())
	}
	if err != nil {
		f.fail("%v", err)
	}
	return list
}

func (f *form) compareLedger(m *model) error {
	used, doubt := map[string]int64{}, map[string]int64{}
	for _, row := range f.rows() {
		for i, unit := range unit.Names {
			what := limit.LedgerName(row.Model, row.Endpoint, row.Account)
			if row.Tag != "" {
				what = "tag|" + row.Tag
			}
			if row.Key != "" {
				what = "key|" + row.Key
			}
			name := fmt.Sprintf("%d|%s|%s", row.Day, what, unit)
			used[name], doubt[name] = row.Used[i], row.Estimated[i]
		}
	}
	drop := func(_ string, n int64) bool { return n == 0 }
	for _, pair := range [][2]map[string]int64{{used, m.ledger}, {doubt, m.doubt}} {
		got, want := maps.Clone(pair[0]), maps.Clone(pair[1])
		maps.DeleteFunc(got, drop)
		maps.DeleteFunc(want, drop)
		if !maps.Equal(got, want) {
			return fmt.Errorf("the ledger has %v, the model says %v", got, want)
		}
	}
	return nil
}

func readTeams(t testing.TB, docs []string) (list []*teams.Team) {
	for _, lines := range docs {
		list = append(list, limittest.Team(t, lines))
	}
	return list
}

// After any history every form agrees with the model.
func TestEveryFormAgreesWithTheModel(t *testing.T) {
	each := 20
	if testing.Short() {
		each = 5
	}
	list := readTeams(t, modelTeams)
	for name, list := range map[string][]*teams.Team{"memory": list, "memory, odd rates": readTeams(t, oddTeams),
		"memory, tags": readTeams(t, tagTeams), "memory, keys": readTeams(t, keyTeams)} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				for range each {
					if err := newMemoryForm(t).play(histories.Draw(rt, "history"), list); err != nil {
						rt.Fatal(err)
					}
				}
			})
		})
	}
	for name, list := range map[string][]*teams.Team{"redis": list, "redis, odd rates": readTeams(t, oddTeams),
		"redis, tags": readTeams(t, tagTeams), "redis, keys": readTeams(t, keyTeams)} {
		t.Run(name, func(t *testing.T) {
			client := limittest.RealRedis(t)
			rapid.Check(t, func(rt *rapid.T) {
				for range each {
					client.FlushDB(t.Context())
					if err := newRedisForm(t, client).play(histories.Draw(rt, "history"), list); err != nil {
						rt.Fatal(err)
					}
				}
			})
		})
	}
}

// Each of these faults, put into the scripts, is found.
func TestFaultsInTheScriptsAreFound(t *testing.T) {
	testMutants(t, mutants, readTeams(t, modelTeams))
}

// The same of quotas of each value of the tag.
func TestMutantsOfTagQuotas(t *testing.T) {
	testMutants(t, tagMutants, readTeams(t, tagTeams))
}

// The same of limits of keys.
func TestMutantsOfKeyLimits(t *testing.T) {
	testMutants(t, keyMutants, readTeams(t, keyTeams))
}

func testMutants(t *testing.T, mutants []mutant, list []*teams.Team) {
	t.Helper()
	if testing.Short() {
		t.Skip("it shows that histories find faults, each of them in up to 1,600")
	}
	client := limittest.RealRedis(t)
	admit, tags, look, batch, settle, sweep, extend := admitScript, admitInnerScript, lookScript, batchScript, settleScript, sweepScript,
		extendScript
	defer func() {
		admitScript, admitInnerScript, lookScript, batchScript, settleScript, sweepScript, extendScript = admit, tags, look, batch, settle,
			sweep, extend
	}()
	var finders []int // histories that found a fault often find the next
	for _, m := range mutants {
		t.Run(m.about, func(t *testing.T) {
			found := false
			bend := func(s *script) *script {
				found = found || strings.Contains(s.source, m.old)
				return scriptOf(strings.Replace(s.source, m.old, m.bent, 1))
			}
			admitScript, admitInnerScript, lookScript = bend(admit), bend(tags), bend(look)
			batchScript, settleScript, sweepScript, extendScript = bend(batch), bend(settle), bend(sweep), bend(extend)
			if !found {
				t.Fatalf("the scripts do not contain %q", m.old)
			}
			for n := range len(finders) + 1600 {
				seed := n - len(finders)
				if seed < 0 {
					seed = finders[n]
				}
				client.FlushDB(t.Context())
				f := newRedisForm(t, client)
				if f.survives(histories.Example(seed), list) != nil {
					if n >= len(finders) {
						finders = append(finders, seed)
					}
					return
				}
			}
			t.Error("no history shows this fault")
		})
	}
}

// survives is play for a form whose scripts may fail.
func (f *form) survives(history []step, list []*teams.Team) (err error) {
	f.lenient = true
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f.play(history, list)
}

// mutant is a fault of the scripts.
type mutant struct{ about, old, bent string }

var tagMutants = []mutant{
	{"holds of the tag are ignored", "numbers[held + q] + numbers[place + 1]", "(k == 1 and numbers[held + q] or 0) + numbers[place + 1]"},
	{"the first request of a value counts for all of a call", "if row.used[q] then row.n[q] = row.n[q] + amount end", "row.used = {}"},
	{"holds of the tag are never freed", "local held = scope.counted and count(key, field .. '|held', s.held[i])", "local held = false"},
	{"a hold without quotas of its tag is freed from them", "counted = mark == '@'}", "counted = true}"},
	{"requests without the tag are not counted", "if not entry or mark .. tag == '' then", "if not entry or tag == '' then"},
	{"a batch frees no hold of the tag", "local n = call('HINCRBY', KEYS[3 + k], ARGV[i], ARGV[i + 1])",
		"local n = string.sub(ARGV[i], -5) == '|held' and 1 or call('HINCRBY', KEYS[3 + k], ARGV[i], ARGV[i + 1])"},
	{"a batch makes a ledger without its day", "if not got[i] then return {NUMBER, 0, tonumber(epoch), seq} end", ""},
	{"the month is the day", "dates[d] or string.format(dated, d)", "d == 1 and key or 'none'"},
	{"a month lacks its last days", "own > 0 and 31 or 0", "own > 0 and 20 or 0"},
	{"what a value held before is lost", "today(name).held[i] + amount", "amount"},
	{"what is used of the tag is not read", "row.n[used] + (got[from + 2 * n - 1] or 0)", "row.n[used]"},
	{"refused requests are held by the tag", ".place(rows[k + 1], i, amount)", ".place(rows[k + 1], i, 0)"},
}

var keyMutants = []mutant{
	{"a hold without quotas of its key is freed from them", "counted = counted == '@',", "counted = true,"},
	{"use with a key is not counted", "if key then scopes.keys", "if false then scopes.keys"},
	{"holds with different keys are added up", "hold.day .. ' ' .. (hold.team or '') .. ' ' .. hold.what", "hold.day .. hold.what"},
	{"the rate of a key is the team's", "UNITS[rate.unit] .. (rate.of or '')", "UNITS[rate.unit]"},
	{"a settlement corrects no rate of a key", "ipairs({A.terms.rates, c.rates})", "ipairs({A.terms.rates})"},
	{"all keys are one", "local given = scope ~= '@' and scope or", "local given = scope ~= '@' and 'one' or"},
}

var mutants = []mutant{
	{"no dedupe by id", "local again = kept[rates + n] or texts[key]", "local again = false"},
	{"settles twice", "elseif hold.state == 'settled' then", "elseif false then"},
	{"ignores holds", "numbers[held + q] + numbers[place + 1]", "numbers[place + 1]"},
	{"adds instead of correcting", "change[i] = actual[i] - charged[i]", "change[i] = actual[i]"},
	{"clamp not stored", "tat = now + 2 * full\n    changed = true", "tat = now + 2 * full"},
	{"clamp erases debt", "if tat > now + 2 * full then -- the clock",
		"if tat > now + full then tat = now + full end\n    if false then -- the clock"},
	{"-0", "if n ~= 0 then return redis.call('HINCRBY', key, field, n) end", "return redis.call('HINCRBY', key, field, n == 0 and -n or n)"},
	{"floored interval", "math.ceil(math.min(n, 3 * b.burst) * b.per / b.limit)", "n * math.floor(b.per / b.limit - 1)"},
	{"rounds down", "math.ceil(math.min(n, 3 * b.burst) * b.per / b.limit)",
		"math.floor(math.min(n, 3 * b.burst) * b.per / b.limit / 1000000) * 1000000"},
	{"sweeps under the wrong period", "post(hold, amount, amount)", "hold.day = (periods(clock())) post(hold, amount, amount)"},
	{"frees the wrong period", "count(QUOTA, s.day .. ':' .. unit .. ':held', s.held[i])",
		"count(QUOTA, (periods(clock())) .. ':' .. unit .. ':held', s.held[i])"},
	{"rate not corrected", "give(b, held[i] - actual[i]) end", "end"},
	{"credits a rate that was not taken from", "if taken(hold, rate.bit) and actual[i]", "if actual[i]"},
	{"overrun not debited", "take(b, actual[i] - held[i]) else", "else"},
	{"credit fills", "b.tat = math.max(b.tat - given, b.now)", "b.tat = b.now"},
	{"reload fills", "local level = math.min(u - behind * l / p, tonumber(burst))", "local level = tonumber(burst)"},
	{"tasks never freed", "if hold.task == '1' then tasks = tasks - 1 end", ""},
	{"shadow takes", "outcome == 1 and rates or 0", "outcome ~= 0 and rates or 0"},
	{"a batch looks at no hold", "if texts[n] ~= ARGV[ids + charges + n - 1] then return {NUMBER, 0, tonumber(epoch), seq} end", ""},
	{"a batch gives nothing back", "move(b, tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6]))", "move(b, tonumber(ARGV[at + 5]), 0)"},
	{"another day's fields", "if now < ARGV[10] + 0 or", "if false and"},
	{"a kind's quantity is not added up", "min(l.quantity + m.quantity, MOST)", "m.quantity"},
	{"one rate for all", "if l.zeros == m.zeros and l.rate == m.rate then", "if l.zeros ~= ANY_RATE then"},
	{"a carry is lost", "floor((low * least + l.rest % per) / per)", "0"},
	{"what is rounded up is lost", "rest = l.rest + m.rest", "rest = l.rest"},
	{"a batch has no kinds", "for at = kinds, rest - 1, 2 do add_kinds", "for at = 1, 0 do add_kinds"},
	{"an account has no rows of its own", "return entry .. account_of(team), scopes", "return entry, scopes"},
	{"a settlement does not know the account", "hold.team = moved\n    if hold.state", "if hold.state"},
	{"a hold that moved expires where it was", "hold.team = on_account(hold.team, account_of(own.team))", ""},
	{"an estimate stays one", "(hold.estimated == '1' and charged[i] or 0)", "0"},
}

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

// rows reads the whole ledger of the team, and that of its tags.
func (f *form) rows() (rows []limit.Row) {
	if f.memory != nil {
		days, _ := limit.Days("2026-11-20", "2027-03-01")
		rows, _ = f.memory.Rows(f.Context(), limit.Query{Teams: []string{"search"}, Days: days})
		for _, k := range inside {
			more, _ := f.memory.Rows(f.Context(), limit.Query{Teams: []string{"search"}, Days: days, By: k})
			rows = append(rows, more...)
		}
		return rows
	}
	keys, err := f.client.Keys(f.Context(), keysOf("search").ledger+"*").Result()
	if err != nil {
		f.Fatal(err)
	}
	var days []int
	for _, key := range keys {
		if strings.HasSuffix(key, ":tags") || strings.HasSuffix(key, ":keys") {
			continue
		}
		day, _ := strconv.Atoi(strings.TrimPrefix(key, keysOf("search").ledger))
		days = append(days, day)
	}
	if rows, err = f.redis.Rows(f.Context(), limit.Query{Teams: []string{"search"}, Days: days}); err != nil {
		f.Fatal(err)
	}
	for _, k := range inside {
		more, err := f.redis.Rows(f.Context(), limit.Query{Teams: []string{"search"}, Days: days, By: k})
		if err != nil {
			f.Fatal(err)
		}
		rows = append(rows, more...)
	}
	return rows
}
