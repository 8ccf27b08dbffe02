package main

import (
	"context"
	"fmt"
	"time"

	"sluice/gateway/admin"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// lately is what this process and the other replicas did in the last two days.
type lately interface {
	recent.Store
	// Minutes returns the counts of teams in the minutes of a span; an empty name is all requests together.
	Minutes(ctx context.Context, teams []string, from, to time.Time) ([]recent.Minute, error)
	// Day returns the counts of teams on the day of a moment.
	Day(ctx context.Context, teams []string, at time.Time) (map[string]recent.Counts, error)
	// Requests returns a page of the last requests.
	Requests(ctx context.Context, f recent.Filter) (recent.Page, error)
}

// openRecent keeps the last requests and their counts where the accounts are.
func (p *process) openRecent() {
	p.lately = recent.NewMemory(time.Now)
	if p.redis != nil {
		p.lately = recent.NewRedis(p.redis, time.Now)
	}
	p.recent = recent.New(recent.Config{Store: p.lately, Now: time.Now, Failed: p.tellRecent, Crowded: p.bounds.add(recent.Bound)})
	p.checks = append(p.checks, admin.Check{Name: "recent", State: p.recent.State})
	p.works = append(p.works, p.recent.Run)
}

// tellRecent logs, once posts succeed again, how many counts were dropped. That Redis is away is logged by the accounts.
func (p *process) tellRecent(err error, dropped int64) {
	if err == nil && dropped > 0 {
		p.log.Logger().Warn("recent", "error", fmt.Sprintf("Redis did not take the counts of requests for so long that %d minutes of teams were dropped", dropped))
	}
}

// usualLine is more bytes than most log lines have.
const usualLine = 1 << 10

// record takes a finished request. Its line is made once, for the log and for the requests that the console shows.
func (p *process) record(r *telemetry.Record) {
	p.used.note(r.Key, r.Time)
	var room [usualLine]byte
	line := r.AppendLine(room[:0])
	p.recent.Note(r, line)
	p.log.Write(r, line)
}
