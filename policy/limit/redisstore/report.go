package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// How much of the ledger one round trip reads, approximately. Redis reads a client's commands in small parts and serves others
// between them, but it runs each command whole.
const (
	// fields of one command, and of one round trip for a team itself: teams ask often. Redis hands out small hashes whole (512 fields at most
	// by its defaults)
	readStep = 512
	tripStep = 100_000 // fields of one round trip for the console and for reports
	dayStep  = 40_000  // days of teams whose sizes one round trip asks for
)

// reading is a ledger that is being read.
type reading struct {
	client redis.UniversalClient
	key    func(t *team, day int) string
	step   int                      // fields of one round trip
	kinds  bool                     // the ledger has kinds: those of tags and keys have none
	most   int                      // rows; 0: any number
	count  int                      // of the rows that were read
	held   map[dayRow]limit.Amounts // of the scopes inside teams; nil: not read
}

// dayRow names a row: its team and day, and model|endpoint.
type dayRow struct {
	team string
	day  int
	name string
}

// read reads the ledger of teams for some days. It reads in steps: use that is posted meanwhile may be in one unit of a row and not in
// another.
func (all *reading) read(ctx context.Context, teams []*team, days []int) ([]limit.Row, error) {
	scans, err := all.begin(ctx, scansOf(teams, days))
	if err != nil {
		return nil, err
	}
	return all.readAll(ctx, scans)
}

func (all *reading) readAll(ctx context.Context, scans []*dayScan) ([]limit.Row, error) {
	if err := all.readScans(ctx, scans); err != nil {
		return nil, err
	}
	slices.SortFunc(scans, func(a, b *dayScan) int {
		return cmp.Or(strings.Compare(a.team.id, b.team.id), cmp.Compare(a.day, b.day))
	})
	rows := make([]limit.Row, 0, all.count)
	for _, s := range scans {
		limit.SortRows(s.rows)
		rows = append(rows, s.rows...)
	}
	return rows, nil
}

// readScans reads days, each with its rows in any order.
func (all *reading) readScans(ctx context.Context, scans []*dayScan) error {
	for rest := scans; len(rest) > 0; {
		n, fields := 1, rest[0].size
		for n < len(rest) && fields+rest[n].size <= all.step {
			fields += rest[n].size
			n++
		}
		for some := slices.Clone(rest[:n]); len(some) > 0; some = slices.DeleteFunc(some, func(s *dayScan) bool { return s.ended }) {
			if err := all.readSome(ctx, some); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	for _, s := range scans {
		s.addKinds()
	}
	return nil
}

// readEvery reads the ledger of all teams.
func (all *reading) readEvery(ctx context.Context, r *Store, days []int) ([]limit.Row, error) {
	var scans []*dayScan
	var rest []*team
	err := eachTeam(ctx, r, func(pipe redis.Pipeliner, teams []*team) func() {
		if len(teams)*len(days) > dayStep {
			rest = append(rest, teams...)
			return func() {}
		}
		some := scansOf(teams, days)
		sizes := all.sizes(ctx, pipe, some)
		return func() { scans = append(scans, sizes()...) }
	})
	if err != nil {
		return nil, err
	}
	more, err := all.begin(ctx, scansOf(rest, days))
	if err != nil {
		return nil, err
	}
	return all.readAll(ctx, append(scans, more...))
}

func scansOf(teams []*team, days []int) []*dayScan {
	every := make([]*dayScan, 0, len(teams)*len(days))
	for _, t := range teams {
		for _, day := range days {
			every = append(every, &dayScan{team: t, day: day})
		}
	}
	return every
}

// begin returns the days that have entries.
func (all *reading) begin(ctx context.Context, every []*dayScan) (scans []*dayScan, err error) {
	for some := range slices.Chunk(every, dayStep) {
		pipe := all.client.Pipeline()
		sizes := all.sizes(ctx, pipe, some)
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
		scans = append(scans, sizes()...)
	}
	return scans, nil
}

// sizes asks for the sizes of days. The returned function reads the replies and keeps the days that have entries.
func (all *reading) sizes(ctx context.Context, pipe redis.Pipeliner, some []*dayScan) func() []*dayScan {
	sizes := make([]*redis.IntCmd, len(some))
	for i := range some {
		sizes[i] = pipe.HLen(ctx, all.key(some[i].team, some[i].day))
	}
	return func() []*dayScan {
		scans := some[:0]
		for i := range some {
			if some[i].size = int(sizes[i].Val()); some[i].size > 0 {
				scans = append(scans, some[i])
			}
		}
		return scans
	}
}

// readSome reads the next page of some days in one round trip.
func (all *reading) readSome(ctx context.Context, scans []*dayScan) error {
	pipe := all.client.Pipeline()
	pages := make([]*redis.ScanCmd, len(scans))
	for i, s := range scans {
		pages[i] = pipe.HScan(ctx, all.key(s.team, s.day), s.cursor, "", readStep)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for i := range scans {
		if err := all.add(scans[i], pages[i]); err != nil {
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
	case all.most > 0 && all.count > all.most:
		return limit.ErrRows
	}
	return nil
}

// Rows returns rows of the ledger in the order of reports: team, day, model, endpoint, account, tag, key. It usually makes two round
// trips: the sizes of the days, and the days. For all teams their names come with the sizes; the sizes of many days, and of teams that this
// process did not know, come after that. With a bound it reads in small steps, because teams ask often.
func (l Ledgers) Rows(ctx context.Context, q limit.Query) (rows []limit.Row, err error) {
	all := newReading(l.of, q.By, tripStep)
	if all.most = q.Most; q.Most > 0 {
		all.step = readStep
	}
	if q.Teams == nil {
		rows, err = all.readEvery(ctx, l.of, q.Days)
	} else {
		list := make([]*team, len(q.Teams))
		for i, id := range q.Teams {
			list[i] = unkept(id)
		}
		rows, err = all.read(ctx, list, q.Days)
	}
	if q.By == limit.ScopeAccount {
		return limit.ByAccount(rows), err
	}
	return innerRows(rows, q.By), err
}

// innerRows gives the rows of the ledger of tags or keys their names, which were read as models.
func innerRows(rows []limit.Row, by limit.ScopeKind) []limit.Row {
	if by != limit.ScopeTag && by != limit.ScopeKey {
		return rows
	}
	rows = slices.DeleteFunc(rows, func(row limit.Row) bool { return row.Model == "" })
	for i := range rows {
		rows[i].SetInner(by, rows[i].Model)
		rows[i].Model = ""
	}
	return rows
}

// newReading returns a reading of the ledger, or of the ledger of the scopes of a kind inside the team.
func newReading(r *Store, by limit.ScopeKind, step int) *reading {
	key := func(t *team, day int) string { return t.day(day) }
	inner := by == limit.ScopeTag || by == limit.ScopeKey
	if inner {
		key = func(t *team, day int) string { return t.inside(by, day) }
	}
	return &reading{client: r.client, key: key, step: step, kinds: !inner}
}

// unkept is a team that is only read and may not exist: kept, every requested name would stay in memory.
func unkept(id string) *team { return &team{teamKeys: keysOf(id)} }
