package recent

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sluice/telemetry"
)

// Every is how often a process posts.
const Every = 10 * time.Second

// postTime bounds one post. No request waits for a post, so it may take long.
const postTime = 3 * time.Second

// maxWaiting bounds the minutes of teams that wait while the store is unreachable: a day of seventy teams.
const maxWaiting = 100_000

// Store takes what the replicas post. Its methods may be called from any goroutine.
type Store interface {
	// Post MUST add each [Hour] and each [LatencyPart] of a post once, in order, also if it is posted again with the same number, and
	// set Stored in those that it has now. For readers it MUST keep the newest lines of all posts: [MostLines] with a team,
	// [MostOfTeam] of one team while others have some, and [MostUnknown] without a team. It MUST set Kept once it has the lines of
	// this post. It MUST NOT retain the post.
	Post(ctx context.Context, p *Post) error
}

// Config configures a [Collector].
type Config struct {
	Store Store
	Now   func() time.Time // the clock
	// Failed is called with the error when posts begin to fail, and with nil when they succeed again. dropped is how many minutes of
	// teams were dropped since the start. Nil: not called.
	Failed func(err error, dropped int64)
	// Crowded is called when one team, or the requests without a team, had more lines between two posts than its share. Nil: not
	// called.
	Crowded func()
}

// Collector collects counts, durations and lines of this process and posts them. Create it with [New]; Run posts, Close posts the
// rest. It is safe for concurrent use.
type Collector struct {
	config  Config
	shards  *shards
	dropped atomic.Int64
	failing atomic.Bool // the last post failed

	mu      sync.Mutex // held during a post
	waiting waiting
	lines   []Line // not posted yet
}

// New returns a collector. It posts only when called.
func New(config Config) *Collector {
	return &Collector{config: config, shards: newShards(), waiting: waiting{from: rand.Text()[:10], hours: map[hourOf]*hour{}}}
}

// Note collects a finished request and its line by [telemetry.Record.AppendLine]. It retains neither, and never waits for the store.
func (c *Collector) Note(r *telemetry.Record, line []byte) {
	ended := r.Time.Add(r.Duration)
	if r.Time.IsZero() {
		ended = c.config.Now()
	}
	s := c.shards.take()
	defer s.mu.Unlock()
	counts := s.counts(minuteOf{r.Team, minute(ended)})
	counts.request(r)
	s.measure(r, ended)
	s.listFor(r.Team, counts).add(ended, line)
}

// State returns nil while posts succeed, else an error without secrets.
func (c *Collector) State() error {
	if !c.failing.Load() {
		return nil
	}
	return fmt.Errorf("the counts of the last minutes wait in this process; %d minutes of teams were dropped since the start", c.Dropped())
}

// Dropped returns how many minutes of teams were dropped because the store was unreachable for too long.
func (c *Collector) Dropped() int64 { return c.dropped.Load() }

// Run posts at every interval until ctx ends.
func (c *Collector) Run(ctx context.Context) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = c.Post(ctx) // Failed reports it
		}
	}
}

// Close posts everything that waits. Its error means that something could not be posted and is lost.
func (c *Collector) Close(ctx context.Context) error {
	err := c.Post(ctx)
	for err == nil && c.left() {
		err = c.Post(ctx)
	}
	return err
}

func (c *Collector) left() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting.hours) > 0 || c.waiting.measuring.left()
}

// Post posts what was collected. The next call repeats what could not be posted.
func (c *Collector) Post(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gather()
	p := c.waiting.post()
	p.Lines = c.lines
	if len(p.Hours) == 0 && len(p.Lines) == 0 && len(p.Latencies) == 0 {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	err := c.config.Store.Post(call, p)
	c.waiting.posted(p)
	if p.Kept {
		clear(c.lines) // frees their texts
		c.lines = c.lines[:0]
	}
	c.report(err)
	return err
}

// maxPosted is how many lines are posted unsorted: the most that the shards hold, also of a single busy team.
const maxPosted = MostLines + MostOfTeam/2 + MostUnknown

// gather empties the shards. It drops lines that the store would not keep.
func (c *Collector) gather() {
	lines, lost := c.shards.drain(c.waiting.add, c.waiting.measuring.add, c.lines)
	most, share := shares(lines)
	if c.lines = lines; most > share && share < MostLines || len(lines) > maxPosted { // lines of a failed post may be among them
		c.lines = newest(lines)
	}
	if c.config.Crowded != nil && (lost || most > share && share < MostLines) {
		c.config.Crowded()
	}
	c.dropped.Add(c.waiting.bound(maxWaiting))
}

// report calls Failed when posts begin to fail or succeed again.
func (c *Collector) report(err error) {
	if c.failing.Swap(err != nil) != (err != nil) && c.config.Failed != nil {
		c.config.Failed(err, c.dropped.Load())
	}
}
