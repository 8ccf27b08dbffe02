package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// estimatedPart ends the names of ledger fields that hold the estimated part.
const estimatedPart = "|estimated"

// readStep is about how many fields of the ledger one round trip reads: Redis does nothing else meanwhile. A smaller
// number would be of no use: Redis hands out small hashes whole (512 fields at most by its defaults).
const readStep = 512

// reading is a ledger that is being read.
type reading struct {
	*team
	key    func(day int) string
	client redis.UniversalClient
	most   int // rows; 0: any number
	rows   map[dayEntry]*limit.Row
}

// dayEntry names a row: its day and model|endpoint.
type dayEntry struct {
	day  int
	name string
}

// dayScan is how far a day has been read.
type dayScan struct {
	day, size    int
	cursor       uint64
	named, ended bool
}

// newReading prepares to read a ledger of one team, of at most so many rows, or of any number if most is 0.
func newReading(r *Store, team *team, key func(day int) string, most int) *reading {
	return &reading{team: team, key: key, client: r.client, most: most, rows: map[dayEntry]*limit.Row{}}
}

// read reads the rows of some days. It reads in small steps: use that is posted meanwhile may be in one unit of a row and not in
// another.
func (all *reading) read(ctx context.Context, days []int) ([]limit.Row, error) {
	scans, err := all.begin(ctx, days)
	if err != nil {
		return nil, err
	}
	for len(scans) > 0 {
		n, fields := 1, scans[0].size
		for n < len(scans) && fields+scans[n].size <= readStep {
			fields += scans[n].size
			n++
		}
		for some := scans[:n]; len(some) > 0; some = slices.DeleteFunc(some, func(s dayScan) bool { return s.ended }) {
			if err := all.step(ctx, some); err != nil {
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
func (all *reading) begin(ctx context.Context, days []int) (scans []dayScan, err error) {
	pipe := all.client.Pipeline()
	sizes := make([]*redis.IntCmd, len(days))
	for i, day := range days {
		sizes[i] = pipe.HLen(ctx, all.key(day))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	for i, day := range days {
		if n := sizes[i].Val(); n > 0 {
			scans = append(scans, dayScan{day: day, size: int(n)})
		}
	}
	return scans, nil
}

// step reads the next page of some days in one round trip.
func (all *reading) step(ctx context.Context, scans []dayScan) error {
	pipe := all.client.Pipeline()
	pages := make([]*redis.ScanCmd, len(scans))
	for i, s := range scans {
		pages[i] = pipe.HScan(ctx, all.key(s.day), s.cursor, "", readStep)
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
			all.readField(s.day, fields[i], fields[i+1])
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

// readField reads one field: model|endpoint|unit, or that with its estimated part.
func (all *reading) readField(day int, field, value string) {
	name, estimated := strings.CutSuffix(field, estimatedPart)
	cut := strings.LastIndexByte(name, '|')
	if cut < 0 {
		return
	}
	unit, of := limit.UnitIndex(teams.Unit(name[cut+1:])), dayEntry{day, name[:cut]}
	split := strings.LastIndexByte(of.name, '|')
	n, err := strconv.ParseInt(value, 10, 64)
	if unit < 0 || split < 0 || err != nil {
		return
	}
	row := all.rows[of]
	if row == nil {
		row = &limit.Row{Team: all.id, Day: day, Model: of.name[:split], Endpoint: policy.Endpoint(of.name[split+1:])}
		all.rows[of] = row
	}
	if estimated {
		row.Estimated[unit] = n
	} else {
		row.Used[unit] = n
	}
}

// Ledger returns the rows of one team, or of all if id is empty, for the days, each yyyymmdd,
// in the order of reports: team, day, model, endpoint.
func (r *Store) Ledger(ctx context.Context, id string, days []int) ([]limit.Row, error) {
	return eachTeam(ctx, r, id, func(t *team) ([]limit.Row, error) { return newReading(r, t, t.day, 0).read(ctx, days) })
}

// Tags returns the rows of the ledger of tags, of one team, or of all if id is empty, for the days, each yyyymmdd, in the order
// of reports: team, day, tag. Use without a tag is in no row.
func (r *Store) Tags(ctx context.Context, id string, days []int) ([]limit.Row, error) {
	return eachTeam(ctx, r, id, func(t *team) ([]limit.Row, error) {
		rows, err := newReading(r, t, t.tags, 0).read(ctx, days)
		for i := range rows {
			rows[i] = limit.TagRow(t.id, &rows[i])
		}
		return rows, err
	})
}

// eachTeam collects the rows of one team, or of all if id is empty.
func eachTeam(ctx context.Context, r *Store, id string, read func(*team) ([]limit.Row, error)) (rows []limit.Row, err error) {
	ids := []string{id}
	if id == "" {
		if ids, err = r.Teams(ctx); err != nil {
			return nil, err
		}
		slices.Sort(ids)
	}
	for _, id := range ids {
		some, err := read(r.teams.Get(id))
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	return rows, nil
}

// TeamLedger returns the rows of one team for the days, as Ledger does, if they are at most so many; else [limit.ErrRows].
func (r *Store) TeamLedger(ctx context.Context, id string, days []int, most int) ([]limit.Row, error) {
	t := r.teams.Get(id)
	return newReading(r, t, t.day, most).read(ctx, days)
}
