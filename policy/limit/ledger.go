package limit

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Row is one entry of the ledger: what a team used of one model by one endpoint on one account on one day, in UTC. In the ledgers of
// tags and keys a row is the use for one tag or with one key, and by account the use on one account, whatever the model and the
// endpoint.
type Row struct {
	Team      string
	Day       int // yyyymmdd
	Model     string
	Endpoint  policy.Endpoint
	Account   string // at the service; empty: main, and in the ledgers of tags and keys
	Tag       string // empty unless the row is of the ledger of tags
	Key       string // empty unless the row is of the ledger of keys
	Used      Amounts
	Estimated Amounts      // the estimated part of Used
	Kinds     price.ByKind // the kinds of Used, as far as bills named them: see [Row.Parts]. Empty in the ledgers of tags and keys
}

// DayRows is the ledger of all teams on one day.
type DayRows struct {
	Teams [][]Row // the rows of each team; they MUST NOT be changed
	State uint64  // changes with each change of the rows; comparable only within one process
}

// ledger is a team's use by day, model, endpoint and account.
type ledger map[int]*ledgerDay

// ledgerDay is a team's use on one day.
type ledgerDay struct {
	rows    map[rowName]*Row
	changes uint64
	listed  []Row // as [House] returned them last; nil: changed since then
}

// rowName names a row of a day.
type rowName struct {
	model    string
	endpoint policy.Endpoint
	account  string
}

// ledgerNames bounds the names of one day, because clients can invent model names.
const ledgerNames = 1000

func (l ledger) post(day int, of rowName, used, estimated Amounts, kinds price.ByKind) {
	on := l[day]
	if on == nil {
		on = &ledgerDay{rows: map[rowName]*Row{}}
		l[day] = on
		forgetDay(l)
	}
	on.changes, on.listed = on.changes+1, nil
	rows := on.rows
	row := rows[of]
	if row == nil && len(rows) >= ledgerNames {
		of.model = Other
		row = rows[of]
	}
	if row == nil {
		row = &Row{Day: day, Model: of.model, Endpoint: of.endpoint, Account: of.account}
		rows[of] = row
	}
	row.Used, row.Estimated = row.Used.Plus(used), row.Estimated.Plus(estimated)
	row.Kinds = row.Kinds.Plus(kinds)
}

// Query names rows of the ledger.
type Query struct {
	Teams []string  // nil: all
	Days  []int     // each yyyymmdd
	By    ScopeKind // ScopeTag, ScopeKey: the ledger of tags or keys, which has no rows for use without one; ScopeAccount: see [ByAccount]
	Most  int       // more rows are the error [ErrRows]; 0: any number
}

// LedgerBy is the kind of the ledger that a report names: tag, key, account, or empty for that of models and endpoints.
func LedgerBy(name string) (k ScopeKind, ok bool) {
	for _, k := range [...]ScopeKind{ScopeTag, ScopeKey, ScopeAccount} {
		if name == k.String() {
			return k, true
		}
	}
	return ScopeTeam, name == ""
}

// HasKinds reports whether the ledger by this kind of scopes divides use by kind.
func (k ScopeKind) HasKinds() bool { return k != ScopeTag && k != ScopeKey }

// QueryOf is the query for the days of one team, or of all if team is empty.
func QueryOf(team string, days []int, by ScopeKind) Query {
	q := Query{Days: days, By: by}
	if team != "" {
		q.Teams = []string{team}
	}
	return q
}

// ByAccount sums up the rows of the ledger by team, day and account. Each sum names its account, even main.
func ByAccount(rows []Row) []Row {
	type of struct {
		team    string
		day     int
		account string
	}
	at, sums := map[of]int{}, rows[:0]
	for _, r := range rows {
		r.Account = AccountName(r.Account)
		name := of{r.Team, r.Day, r.Account}
		i, known := at[name]
		if !known {
			at[name], r.Model, r.Endpoint = len(sums), "", ""
			sums = append(sums, r)
			continue
		}
		s := &sums[i]
		s.Used, s.Estimated, s.Kinds = s.Used.Plus(r.Used), s.Estimated.Plus(r.Estimated), s.Kinds.Plus(r.Kinds)
	}
	SortRows(sums)
	return sums
}

// Rows returns rows of the ledger in the order of reports: team, day, model, endpoint, account, tag, key.
func (m *Memory) Rows(_ context.Context, q Query) (rows []Row, err error) {
	for id, a := range accountsOf(m, q.Teams) {
		for _, day := range q.Days {
			if rows = a.addRows(rows, id, day, q.By); q.Most > 0 && len(rows) > q.Most {
				return nil, ErrRows
			}
		}
	}
	if q.By == ScopeAccount {
		return ByAccount(rows), nil
	}
	SortRows(rows)
	return rows, nil
}

// accountsOf returns those of some teams, or of all if ids is nil.
func accountsOf(m *Memory, ids []string) map[string]*account {
	some := make(map[string]*account, len(ids))
	for _, id := range ids {
		if a := m.teams.Known(id); a != nil {
			some[id] = a
		}
	}
	if ids == nil {
		m.teams.Each(func(id string, a *account) {
			if !teams.IsOutside(id) {
				some[id] = a
			}
		})
	}
	return some
}

func (a *account) addRows(rows []Row, team string, day int, by ScopeKind) []Row {
	a.mu.Lock()
	defer a.mu.Unlock()
	return addRowsLocked(a, rows, team, day, by)
}

func addRowsLocked(a *account, rows []Row, team string, day int, by ScopeKind) []Row {
	if by != ScopeTeam && by != ScopeAccount {
		for name, in := range a.books[by][0][day] {
			if name != "" && (in.used != Amounts{} || in.estimated != Amounts{}) {
				row := Row{Team: team, Day: day, Used: in.used, Estimated: in.estimated}
				row.SetInner(by, name)
				rows = append(rows, row)
			}
		}
		return rows
	}
	if on := a.ledger[day]; on != nil {
		for _, row := range on.rows {
			row := *row
			row.Team = team
			rows = append(rows, row)
		}
	}
	return rows
}

// House is the ledger of all teams in memory.
type House struct{ Memory *Memory }

// Days returns the ledger of all teams, or of their tags or keys, on each of some days.
func (h House) Days(_ context.Context, by ScopeKind, days []int) (map[int]DayRows, error) {
	list := make(map[int]DayRows, len(days))
	for id, a := range accountsOf(h.Memory, nil) {
		for _, day := range days {
			if rows, changes := listedRows(a, id, day, by); len(rows) > 0 {
				of := list[day]
				list[day] = DayRows{append(of.Teams, rows), of.State + changes}
			}
		}
	}
	return list, nil
}

// listedRows returns the rows of a day, the same ones until they change, and how often they have changed.
func listedRows(a *account, team string, day int, by ScopeKind) (rows []Row, changes uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	on := a.ledger[day]
	if on == nil {
		return nil, 0
	}
	if by != ScopeTeam {
		return addRowsLocked(a, nil, team, day, by), on.changes
	}
	if on.listed == nil {
		on.listed = addRowsLocked(a, nil, team, day, by)
	}
	return on.listed, on.changes
}

// Versions returns for each of the days how often its ledger has changed.
func (h House) Versions(_ context.Context, days []int) ([]uint64, error) {
	versions := make([]uint64, len(days))
	for _, a := range accountsOf(h.Memory, nil) {
		a.mu.Lock()
		for i, day := range days {
			if on := a.ledger[day]; on != nil {
				versions[i] += on.changes
			}
		}
		a.mu.Unlock()
	}
	return versions, nil
}

// SetInner makes a row that of a tag or key.
func (r *Row) SetInner(k ScopeKind, name string) {
	switch k {
	case ScopeTag:
		r.Tag = name
	case ScopeKey:
		r.Key = name
	}
}

// SortRows puts rows in the order of reports: team, day, model, endpoint, account, tag, key.
func SortRows(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Team, b.Team), cmp.Compare(a.Day, b.Day),
			strings.Compare(a.Model, b.Model), strings.Compare(string(a.Endpoint), string(b.Endpoint)),
			strings.Compare(a.Account, b.Account), strings.Compare(a.Tag, b.Tag), strings.Compare(a.Key, b.Key))
	})
}

// Entry is one unit of a row of the ledger, or what the row used of one kind, as reports write it.
type Entry struct {
	Day       string          `json:"day"`
	Model     string          `json:"model,omitzero"`    // absent in the ledgers of tags and keys, and by account
	Endpoint  policy.Endpoint `json:"endpoint,omitzero"` // absent in the ledgers of tags and keys, and by account
	Account   string          `json:"account,omitzero"`  // at the service; absent: main, and in the ledgers of tags and keys
	Tag       string          `json:"tag,omitzero"`      // only in the ledger of tags
	Key       string          `json:"key,omitzero"`      // only in the ledger of keys
	Kind      string          `json:"kind,omitzero"`     // only by kind: its name; absent in the entry of the requests
	Size      string          `json:"size,omitzero"`     // only by kind: of pictures, their size in the price list
	Unit      unit.Name       `json:"unit"`
	Used      json.Number     `json:"used"`      // units; spend in the currency
	Estimated json.Number     `json:"estimated"` // the estimated part of it

	Price          json.Number `json:"price,omitzero"`           // only by kind: of a million tokens or of one picture; absent if it changed
	Spend          json.Number `json:"spend,omitzero"`           // only by kind: what Used costs
	EstimatedSpend json.Number `json:"estimated_spend,omitzero"` // only by kind: the estimated part of it
}

// Entries are the units of a row that are not 0, or its use by kind. Its money counts in m.
func (r *Row) Entries(m unit.Money, kinds bool) (entries []Entry) {
	if kinds {
		return r.kindEntries(m)
	}
	for i := range unit.Names {
		if r.Used[i] != 0 || r.Estimated[i] != 0 {
			entries = append(entries, r.entry(m, i, &r.Used, &r.Estimated))
		}
	}
	return entries
}
