package figures

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/policy/limit"
)

// The ledger of all teams is large: four hundred days of a thousand teams are 400,000 hashes in Redis. A page reads the days that may
// still change, and takes the others from copies, which are read again from time to time: a late correction shows within an hour.
const (
	freshFor   = 2 * time.Second // a copy of a day that may change; many consoles share one reading
	pastFor    = time.Hour       // a copy of a day that is over
	unusedFor  = time.Hour       // after that long without a reader copies of days beyond warmDays are dropped
	warmDays   = 31              // the days of which there always is a copy, soon after the start
	stepEvery  = 500 * time.Millisecond
	readAtOnce = 31   // days of all teams: what is read is in memory for a moment
	mostModels = 1000 // of a day; the rest counts as other
)

// otherModel is the name that the ledger, too, gives to models that are too many.
const otherModel = "other"

// sums are what all teams used, by day. They are copies.
type sums struct {
	ledger func(ctx context.Context, team string, days []int) ([]limit.Row, error)
	now    func() time.Time
	late   time.Duration

	mu    sync.Mutex // held while the ledger is read, so that readers share it
	days  map[int]*daySum
	names map[string]string // each once in memory
	used  time.Time         // when a reader last came; zero: none did
}

// daySum is what was used on one day, by each dimension. It does not change.
type daySum struct {
	day                      int
	read                     time.Time
	teams, models, endpoints []MoneyRow // by name
}

// of returns the sums of days, in their order. Between parts of them other readers have their turn.
func (s *sums) of(ctx context.Context, days []int) ([]*daySum, error) {
	list := make([]*daySum, 0, len(days))
	for part := range slices.Chunk(days, readAtOnce) {
		some, err := s.some(ctx, part)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

func (s *sums) some(ctx context.Context, days []int) ([]*daySum, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = s.now()
	var missing []int
	for _, day := range days {
		if d := s.days[day]; d == nil || !s.over(day, d.read) && s.now().Sub(d.read) >= freshFor {
			missing = append(missing, day)
		}
	}
	if len(missing) > 0 {
		if err := s.read(ctx, missing); err != nil {
			return nil, err
		}
	}
	list := make([]*daySum, len(days))
	for i, day := range days {
		list[i] = s.days[day]
	}
	return list, nil
}

// over reports whether at a moment requests of a day are charged no more. A correction by hand is one of its own day.
func (s *sums) over(day int, at time.Time) bool {
	ends := time.Date(day/10000, time.Month(day/100%100), day%100+1, 0, 0, 0, 0, time.UTC)
	return at.Sub(ends) > s.late+time.Hour
}

func (s *sums) read(ctx context.Context, days []int) error {
	read := s.now()
	rows, err := s.ledger(ctx, "", days)
	if err != nil {
		return err
	}
	type adders struct{ teams, models, endpoints adder }
	byDay := map[int]*adders{}
	for _, day := range days {
		byDay[day] = &adders{adder{}, adder{}, adder{}}
	}
	for i := range rows {
		row := &rows[i]
		a, use := byDay[row.Day], useOf(row)
		a.teams.add(row.Team, use)
		a.models.add(row.Model, use)
		a.endpoints.add(string(row.Endpoint), use)
	}
	for day, a := range byDay {
		s.days[day] = &daySum{day, read, s.named(a.teams, len(a.teams)), s.named(a.models, mostModels), s.named(a.endpoints, len(a.endpoints))}
	}
	return nil
}

// named lists use by name; what is beyond the first most counts as other.
func (s *sums) named(a adder, most int) []MoneyRow {
	rows := a.rows()
	if len(rows) > most {
		rest := adder{}
		for i := range rows {
			if i < most-1 {
				rest.add(rows[i].Name, rows[i].Use)
			} else {
				rest.add(otherModel, rows[i].Use)
			}
		}
		rows = rest.rows()
	}
	rows = slices.Clip(rows)
	for i := range rows {
		name, known := s.names[rows[i].Name]
		if !known {
			name = strings.Clone(rows[i].Name)
			s.names[name] = name
		}
		rows[i].Name = name
	}
	slices.SortFunc(rows, func(a, b MoneyRow) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// run reads the copies of past days ahead and again, the newest first, one day at a time, so that Redis has little to do.
func (s *sums) run(ctx context.Context) {
	ticker := time.NewTicker(stepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.step(ctx)
		}
	}
}

// step reads the one past day that needs it most: of the last month always, so that the first reader need not wait, and of all days
// while somebody looks at sums.
func (s *sums) step(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := warmDays
	if !s.used.IsZero() && s.now().Sub(s.used) < unusedFor {
		n = limit.LedgerDays
	}
	days := lastDays(s.now(), n)
	s.forget(days[0])
	if day := s.oldest(days); day > 0 {
		_ = s.read(ctx, []int{day}) // the copy stays
	}
}

// oldest is the day whose copy is missing, or was read longest ago and too long ago; 0: none. Days that may change are left out.
func (s *sums) oldest(days []int) (oldest int) {
	over := slices.DeleteFunc(days, func(day int) bool { return !s.over(day, s.now()) })
	slices.Reverse(over)
	at := s.now().Add(-pastFor)
	for _, day := range over {
		d := s.days[day]
		if d == nil || !s.over(day, d.read) {
			return day
		}
		if !d.read.After(at) {
			oldest, at = day, d.read.Add(-1)
		}
	}
	return oldest
}

// forget drops copies of days before the first, and names that may be theirs alone: they come back with the next days.
func (s *sums) forget(first int) {
	before := len(s.days)
	for day := range s.days {
		if day < first {
			delete(s.days, day)
		}
	}
	if len(s.days) < before {
		clear(s.names)
	}
}

// find returns the use under a name, out of a list by name.
func find(rows []MoneyRow, name string) (u Use) {
	if i, found := slices.BinarySearchFunc(rows, name, func(r MoneyRow, name string) int { return cmp.Compare(r.Name, name) }); found {
		u = rows[i].Use
	}
	return u
}
