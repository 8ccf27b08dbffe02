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

// postTime bounds one post. Posts run beside the requests, so they may take long.
const postTime = 3 * time.Second

// mostWaiting is how many minutes of teams wait at most while the store is away: a day of seventy teams.
const mostWaiting = 100_000

// Store takes what the replicas post. Its methods may be called from any goroutine.
type Store interface {
	// Post MUST add each [Hour] of a post once, also if it is posted again with the same number, and set Stored in those that it has
	// now, and likewise each [LatencyPart], in their order. It MUST keep the newest lines of all posts for readers, [MostLines] of teams, [MostOfTeam] of one team while others have some and
	// [MostUnknown] without a team, and set Kept if it has those of this one. It MUST NOT keep the post.
	Post(ctx context.Context, p *Post) error
}

// Config configures a [Collector].
type Config struct {
	Store Store
	Now   func() time.Time // the clock
	// Failed is called when posts begin to fail, with the error, and when they succeed again, with nil and how many minutes of
	// teams were dropped meanwhile. Nil: not called.
	Failed func(err error, dropped int64)
	// Crowded is called when, between two posts, one team, or the requests without a team, had more lines than are kept while
	// others have some. Nil: not called.
	Crowded func()
}

// Collector takes what this process does and posts it. Create it with [New]; Run posts, Close posts the rest. It is safe for
// concurrent use.
type Collector struct {
	config  Config
	shards  *shards
	dropped atomic.Int64
	failing atomic.Bool // posts fail

	mu      sync.Mutex // held during a post
	waiting waiting
	lines   []Line // not posted yet
}

// New returns a collector that posts nothing by itself.
func New(config Config) *Collector {
	return &Collector{config: config, shards: newShards(), waiting: waiting{from: rand.Text()[:10], hours: map[hourOf]*hour{}}}
}

// Note takes a finished request and its line by [telemetry.Record.AppendLine]. It keeps neither, and never waits for the store.
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

// State is nil while posts succeed; otherwise an error, in words without secrets.
func (c *Collector) State() error {
	if !c.failing.Load() {
		return nil
	}
	return fmt.Errorf("the counts of the last minutes wait in this process; %d minutes of teams were dropped since the start", c.Dropped())
}

// Dropped is how many minutes of teams were dropped, because the store was away for too long.
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

// Post posts what was taken. What could not be posted is posted again the next time.
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
		clear(c.lines) // or it would keep their texts in memory
		c.lines = c.lines[:0]
	}
	c.tell(err)
	return err
}

// mostPosted is how many lines may be posted unsorted: those of the shards, also of a single team that is busy.
const mostPosted = MostLines + MostOfTeam/2 + MostUnknown

// gather takes everything out of the shards. It drops lines that the store would not keep.
func (c *Collector) gather() {
	lines, lost := c.shards.drain(c.waiting.add, c.waiting.measuring.add, c.lines)
	most, share := shares(lines)
	if c.lines = lines; most > share && share < MostLines || len(lines) > mostPosted { // some could not be posted, perhaps
		c.lines = newest(lines)
	}
	if c.config.Crowded != nil && (lost || most > share && share < MostLines) {
		c.config.Crowded()
	}
	c.dropped.Add(c.waiting.bound(mostWaiting))
}

// tell reports that posts begin to fail, and that they succeed again.
func (c *Collector) tell(err error) {
	if c.failing.Swap(err != nil) != (err != nil) && c.config.Failed != nil {
		c.config.Failed(err, c.dropped.Load())
	}
}
