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

// estimatedPart ends the names of ledger fields that hold the part nobody knows for certain.
const estimatedPart = "|estimated"

// readStep is about how many fields of the ledger one round trip reads: Redis answers no other request meanwhile. It is no
// fewer than Redis keeps in one piece, which it hands out whole (512 at most by its defaults).
const readStep = 512

// reading is the ledger of one team as far as it has been read.
type reading struct {
	team string
	most int // rows; 0 is any number
	rows map[dayEntry]*limit.Row
}

// dayEntry is what a row is of, as the ledger names it: model|endpoint.
type dayEntry struct {
	day  int
	name string
}

// dayScan is how far one day has been read.
type dayScan struct {
	day, size    int
	cursor       uint64
	named, ended bool
}

// rows reads the ledger of one team for some days, at most so many rows, or any number where most is 0. It reads in small
// steps, so that what is used meanwhile may be in one unit of a row and not in another.
func (r *Store) rows(ctx context.Context, team string, days []int, most int) ([]limit.Row, error) {
	scans, err := r.scansOf(ctx, team, days)
	if err != nil {
		return nil, err
	}
	all := &reading{team: team, most: most, rows: map[dayEntry]*limit.Row{}}
	for len(scans) > 0 {
		n, fields := 1, scans[0].size
		for n < len(scans) && fields+scans[n].size <= readStep {
			fields += scans[n].size
			n++
		}
		for some := scans[:n]; len(some) > 0; some = slices.DeleteFunc(some, func(s dayScan) bool { return s.ended }) {
			if err := r.step(ctx, all, some); err != nil {
				return nil, err
			}
		}
		scans = scans[n:]
	}
	rows := make([]limit.Row, 0, len(all.rows))
	for _, row := range all.rows {
		rows = append(rows, *row)
	}
	return rows, nil
}

// scansOf begins to read those of the days that have something.
func (r *Store) scansOf(ctx context.Context, team string, days []int) ([]dayScan, error) {
	k, pipe := r.keysOf(team), r.client.Pipeline()
	sizes := make([]*redis.IntCmd, len(days))
	for i, day := range days {
		sizes[i] = pipe.HLen(ctx, k.day(day))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	var scans []dayScan
	for i, day := range days {
		if n := sizes[i].Val(); n > 0 {
			scans = append(scans, dayScan{day: day, size: int(n)})
		}
	}
	return scans, nil
}

// step reads on in some days in one round trip.
func (r *Store) step(ctx context.Context, all *reading, scans []dayScan) error {
	k, pipe := r.keysOf(all.team), r.client.Pipeline()
	pages := make([]*redis.ScanCmd, len(scans))
	for i, s := range scans {
		pages[i] = pipe.HScan(ctx, k.day(s.day), s.cursor, "", readStep)
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

// add takes over one page of a day's hash. A page may repeat what another had.
func (all *reading) add(s *dayScan, page *redis.ScanCmd) error {
	fields, cursor := page.Val()
	s.cursor, s.ended = cursor, cursor == 0
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] != "day" {
			all.read(s.day, fields[i], fields[i+1])
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

// read reads one field: model|endpoint|unit, or that with its estimated part.
func (all *reading) read(day int, field, value string) {
	name, estimated := strings.CutSuffix(field, estimatedPart)
	cut := strings.LastIndexByte(name, '|')
	if cut < 0 {
		return
	}
	unit, of := unitNamed(name[cut+1:]), dayEntry{day, name[:cut]}
	split := strings.LastIndexByte(of.name, '|')
	n, err := strconv.ParseInt(value, 10, 64)
	if unit < 0 || split < 0 || err != nil {
		return
	}
	row := all.rows[of]
	if row == nil {
		row = &limit.Row{Team: all.team, Day: day, Model: of.name[:split], Endpoint: policy.Endpoint(of.name[split+1:])}
		all.rows[of] = row
	}
	if estimated {
		row.Estimated[unit] = n
	} else {
		row.Used[unit] = n
	}
}

func unitNamed(word string) int {
	for i, unit := range teams.Units {
		if string(unit) == word {
			return i
		}
	}
	return -1
}

// Look tells how a team stands, and takes nothing.
func (r *Store) Look(ctx context.Context, team *teams.Team) (limit.State, error) {
	s, err := r.ask(ctx, &limit.Hold{Team: team}, &Loan{})
	if err == nil {
		r.own.Get(team.ID).know(&s)
	}
	return s.State, err
}
