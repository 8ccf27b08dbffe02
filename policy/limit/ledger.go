package limit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"sluice/policy"
)

// Row is one entry of the ledger: what a team used of one model by one endpoint on one day, in UTC. In the ledger of tags it is
// what it used for one tag, whatever the model and the endpoint.
type Row struct {
	Team      string
	Day       int // yyyymmdd
	Model     string
	Endpoint  policy.Endpoint
	Tag       string // empty unless the row is of the ledger of tags
	Used      Amounts
	Estimated Amounts // the estimated part of Used
}

// ledger is a team's use by day, model and endpoint.
type ledger map[int]map[rowName]*Row

// rowName names a row of a day.
type rowName struct {
	model    string
	endpoint policy.Endpoint
}

// ledgerNames bounds the names of one day, because clients can invent model names.
const ledgerNames = 1000

func (l ledger) post(day int, model string, endpoint policy.Endpoint, used, estimated Amounts) {
	rows := l[day]
	if rows == nil {
		rows = map[rowName]*Row{}
		l[day] = rows
		l.forget()
	}
	of := rowName{model, endpoint}
	row := rows[of]
	if row == nil && len(rows) >= ledgerNames {
		of.model = Other
		row = rows[of]
	}
	if row == nil {
		row = &Row{Day: day, Model: of.model, Endpoint: endpoint}
		rows[of] = row
	}
	row.Used, row.Estimated = row.Used.Plus(used), row.Estimated.Plus(estimated)
}

// forget drops the oldest day if there are too many.
func (l ledger) forget() { forgetDay(l) }

// enter posts to the ledger and counts the change.
func (a *account) enter(day int, model string, endpoint policy.Endpoint, used, estimated Amounts) {
	a.ledger.post(day, model, endpoint, used, estimated)
	a.changes[day]++
	if len(a.changes) > LedgerDays {
		maps.DeleteFunc(a.changes, func(day int, _ uint64) bool { return a.ledger[day] == nil })
	}
}

// Versions returns for each of the days a number that is another one after each change of its ledger, of any team.
func (m *Memory) Versions(_ context.Context, days []int) ([]uint64, error) {
	m.mu.Lock()
	accounts := maps.Clone(m.teams)
	m.mu.Unlock()
	versions := make([]uint64, len(days))
	for _, a := range accounts {
		a.mu.Lock()
		for i, day := range days {
			versions[i] += a.changes[day]
		}
		a.mu.Unlock()
	}
	return versions, nil
}

// Tags returns the rows of the ledger of tags, of one team, or of all if team is empty, for the days, each yyyymmdd, in the
// order of reports: team, day, tag. Use without a tag is in no row.
func (m *Memory) Tags(_ context.Context, team string, days []int) (rows []Row, err error) {
	m.mu.Lock()
	accounts := maps.Clone(m.teams)
	m.mu.Unlock()
	for id, a := range accounts {
		if team == "" || id == team {
			rows = append(rows, a.tagRows(id, days)...)
		}
	}
	SortRows(rows)
	return rows, nil
}

func (a *account) tagRows(team string, days []int) (rows []Row) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, day := range days {
		for value, in := range a.tags[day] {
			if value != "" && (in.used != Amounts{} || in.estimated != Amounts{}) { // use without a tag is in no row
				rows = append(rows, Row{Team: team, Day: day, Tag: value, Used: in.used, Estimated: in.estimated})
			}
		}
	}
	return rows
}

// TagsOf returns the rows of some teams, or of all if teams is nil, as Tags does.
func (m *Memory) TagsOf(ctx context.Context, teams []string, days []int) ([]Row, error) {
	return ofSome(ctx, m.Tags, teams, days)
}

// LedgerOf returns the rows of some teams, or of all if teams is nil, as Ledger does.
func (m *Memory) LedgerOf(ctx context.Context, teams []string, days []int) ([]Row, error) {
	return ofSome(ctx, m.Ledger, teams, days)
}

func ofSome(ctx context.Context, read func(context.Context, string, []int) ([]Row, error), teams []string, days []int) (all []Row, err error) {
	if teams == nil {
		return read(ctx, "", days)
	}
	for _, team := range teams {
		rows, err := read(ctx, team, days)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	SortRows(all)
	return all, nil
}

// TagRow makes a row of the ledger of tags of one whose model is the tag.
func TagRow(row *Row) Row {
	return Row{Team: row.Team, Day: row.Day, Tag: row.Model, Used: row.Used, Estimated: row.Estimated}
}

// Ledger returns the rows of one team, or of all if team is empty, for the days, each yyyymmdd, in the order of
// reports: team, day, model, endpoint.
func (m *Memory) Ledger(_ context.Context, team string, days []int) (rows []Row, err error) {
	m.mu.Lock()
	accounts := maps.Clone(m.teams)
	m.mu.Unlock()
	for id, a := range accounts {
		if team == "" || id == team {
			rows = a.addRows(rows, id, days)
		}
	}
	SortRows(rows)
	return rows, nil
}

// TeamLedger returns the rows of one team for the days, as Ledger does, if they are at most so many; else [ErrRows].
func (m *Memory) TeamLedger(_ context.Context, team string, days []int, most int) (rows []Row, err error) {
	m.mu.Lock()
	a := m.teams[team]
	m.mu.Unlock()
	if a == nil {
		return nil, nil
	}
	for i := range days {
		if rows = a.addRows(rows, team, days[i:i+1]); len(rows) > most {
			return nil, ErrRows
		}
	}
	SortRows(rows)
	return rows, nil
}

func (a *account) addRows(rows []Row, team string, days []int) []Row {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, day := range days {
		for _, row := range a.ledger[day] {
			row := *row
			row.Team = team
			rows = append(rows, row)
		}
	}
	return rows
}

// SortRows puts rows in the order of reports: team, day, model, endpoint, tag.
func SortRows(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Team, b.Team), cmp.Compare(a.Day, b.Day),
			strings.Compare(a.Model, b.Model), strings.Compare(string(a.Endpoint), string(b.Endpoint)), strings.Compare(a.Tag, b.Tag))
	})
}
