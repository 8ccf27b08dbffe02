package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// What ends the names of ledger fields that have the estimated part, and of those of tags that have what is held.
const (
	estimatedPart = "|estimated"
	heldPart      = "|held"
)

// How much of the ledger one round trip reads, about. Redis reads a client's commands in small parts and serves others between them,
// but it runs each command whole.
const (
	readStep = 512     // fields of one command, and of one round trip for a team: teams ask often. Redis hands out small hashes whole (512 fields at most by its defaults)
	tripStep = 100_000 // fields of one round trip for all teams
	dayStep  = 40_000  // days of teams whose sizes one round trip asks for
)

// reading is a ledger that is being read.
type reading struct {
	client redis.UniversalClient
	key    func(t *team, day int) string
	step   int // fields of one round trip
	most   int // rows; 0: any number
	rows   map[rowOf]*limit.Row
	held   map[rowOf]limit.Amounts // of tags; nil: it is not read
}

// rowOf names a row: its team, its day, and model|endpoint.
type rowOf struct {
	team string
	day  int
	name string
}

// dayScan is how far a day of a team has been read.
type dayScan struct {
	team         *team
	day, size    int
	cursor       uint64
	named, ended bool
}

// read reads the ledger of teams for some days. It reads in steps: use that is posted meanwhile may be in one unit of a row and not
// in another.
func (all *reading) read(ctx context.Context, teams []*team, days []int) ([]limit.Row, error) {
	all.rows = map[rowOf]*limit.Row{}
	scans, err := all.begin(ctx, teams, days)
	if err != nil {
		return nil, err
	}
	for len(scans) > 0 {
		n, fields := 1, scans[0].size
		for n < len(scans) && fields+scans[n].size <= all.step {
			fields += scans[n].size
			n++
		}
		for some := scans[:n]; len(some) > 0; some = slices.DeleteFunc(some, func(s dayScan) bool { return s.ended }) {
			if err := all.readSome(ctx, some); err != nil {
				return nil, err
			}
		}
		scans = scans[n:]
	}
	rows := make([]limit.Row, 0, len(all.rows))
	for _, row := range all.rows {
		rows = append(rows, *row)
	}
	limit.SortRows(rows)
	return rows, nil
}

// begin returns the days that have entries.
func (all *reading) begin(ctx context.Context, teams []*team, days []int) (scans []dayScan, err error) {
	every := make([]dayScan, 0, len(teams)*len(days))
	for _, t := range teams {
		for _, day := range days {
			every = append(every, dayScan{team: t, day: day})
		}
	}
	for some := range slices.Chunk(every, dayStep) {
		pipe := all.client.Pipeline()
		sizes := make([]*redis.IntCmd, len(some))
		for i := range some {
			sizes[i] = pipe.HLen(ctx, all.key(some[i].team, some[i].day))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
		for i := range some {
			if some[i].size = int(sizes[i].Val()); some[i].size > 0 {
				scans = append(scans, some[i])
			}
		}
	}
	return scans, nil
}

// readSome reads the next page of some days in one round trip.
func (all *reading) readSome(ctx context.Context, scans []dayScan) error {
	pipe := all.client.Pipeline()
	pages := make([]*redis.ScanCmd, len(scans))
	for i, s := range scans {
		pages[i] = pipe.HScan(ctx, all.key(s.team, s.day), s.cursor, "", readStep)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for i := range scans {
		if err := all.add(&scans[i], pages[i]); err != nil {
			return err
		}
	}
	return nil
}

// add adds one page of a day's hash. A page may repeat fields of another.
func (all *reading) add(s *dayScan, page *redis.ScanCmd) error {
	fields, cursor := page.Val()
	s.cursor, s.ended = cursor, cursor == 0
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] != "day" {
			all.readField(s, fields[i], fields[i+1])
			continue
		}
		if s.named = true; fields[i+1] != strconv.Itoa(s.day) {
			return errMixed
		}
	}
	switch {
	case s.ended && !s.named:
		return errMixed
	case all.most > 0 && len(all.rows) > all.most:
		return limit.ErrRows
	}
	return nil
}

// readField reads one field: model|endpoint|unit, or that of its estimated or held part.
func (all *reading) readField(s *dayScan, field, value string) {
	name, estimated := strings.CutSuffix(field, estimatedPart)
	name, held := strings.CutSuffix(name, heldPart)
	if held && all.held == nil {
		return
	}
	cut := strings.LastIndexByte(name, '|')
	if cut < 0 {
		return
	}
	unit, of := limit.UnitIndex(teams.Unit(name[cut+1:])), rowOf{s.team.id, s.day, name[:cut]}
	split := strings.LastIndexByte(of.name, '|')
	n, err := strconv.ParseInt(value, 10, 64)
	if unit < 0 || split < 0 || err != nil {
		return
	}
	row := all.rows[of]
	if row == nil {
		row = &limit.Row{Team: s.team.id, Day: s.day, Model: of.name[:split], Endpoint: policy.Endpoint(of.name[split+1:])}
		all.rows[of] = row
	}
	switch {
	case held:
		amounts := all.held[of]
		amounts[unit] = n
		all.held[of] = amounts
	case estimated:
		row.Estimated[unit] = n
	default:
		row.Used[unit] = n
	}
}

// Ledger returns the rows of one team, or of all if team is empty, for the days, each yyyymmdd, in the order of reports: team, day,
// model, endpoint. For all teams it usually makes three round trips: their names, the sizes of their days, and the days.
func (r *Store) Ledger(ctx context.Context, team string, days []int) ([]limit.Row, error) {
	return readLedger(ctx, r, (*teamKeys).day, team, days, 0)
}

// TeamLedger returns the rows of one team for the days, as Ledger does, if they are at most so many, or 0 for any number; else
// [limit.ErrRows].
func (r *Store) TeamLedger(ctx context.Context, team string, days []int, most int) ([]limit.Row, error) {
	return readLedger(ctx, r, (*teamKeys).day, team, days, most)
}

// Tags returns the rows of the ledger of tags, of one team, or of all if team is empty, for the days, each yyyymmdd, in the order
// of reports: team, day, tag. Use without a tag is in no row.
func (r *Store) Tags(ctx context.Context, team string, days []int) ([]limit.Row, error) {
	rows, err := readLedger(ctx, r, (*teamKeys).tags, team, days, 0)
	rows = slices.DeleteFunc(rows, func(row limit.Row) bool { return row.Model == "" })
	for i := range rows {
		rows[i] = limit.TagRow(&rows[i])
	}
	return rows, err
}

// LookTags reports how each value of the team's tag stands to its quotas, as [limit.TagStandings] does. It takes nothing.
func LookTags(ctx context.Context, r *Store, of *teams.Team, at time.Time) ([]limit.Standing, error) {
	t := limit.TermsOf(of)
	all := &reading{client: r.client, key: func(t *team, day int) string { return t.tags(day) }, step: tripStep, held: map[rowOf]limit.Amounts{}}
	rows, err := all.read(ctx, []*team{r.teams.Get(of.ID)}, limit.TagDays(&t, at))
	days := make([]limit.TagDay, len(rows))
	for i := range rows {
		row := &rows[i]
		days[i] = limit.TagDay{Day: row.Day, Value: row.Model, Used: row.Used, Held: all.held[rowOf{row.Team, row.Day, row.Model + "|"}]}
	}
	return limit.TagStandings(&t, at, days), err
}

// readLedger reads the hashes of days of one team, or of all if id is empty.
func readLedger(ctx context.Context, r *Store, key func(*teamKeys, int) string, id string, days []int, most int) ([]limit.Row, error) {
	all := &reading{client: r.client, key: func(t *team, day int) string { return key(t.teamKeys, day) }, step: readStep, most: most}
	ids := []string{id}
	if id == "" {
		all.step = tripStep
		var err error
		if ids, err = r.Teams(ctx); err != nil {
			return nil, err
		}
	}
	list := make([]*team, len(ids))
	for i, id := range ids {
		list[i] = r.teams.Get(id)
	}
	return all.read(ctx, list, days)
}
