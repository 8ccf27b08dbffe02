package recent

import (
	"context"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// copyUnused is how long the copy of the streams is kept after its last use.
const copyUnused = 10 * time.Minute

// linesCopy is a copy of the streams. The first page that is read makes it, and later pages read only new entries.
type linesCopy struct {
	lines []Line    // sorted, with fields; the slice is replaced, never changed
	last  [2]string // id of the last entry of each stream; empty: nothing was read
	used  time.Time
}

// Requests returns a page of the last requests, in one round trip.
func (r *Redis) Requests(ctx context.Context, f Filter) (Page, error) {
	lines, err := r.lines(ctx)
	if err != nil {
		return Page{}, err
	}
	return f.page(lines)
}

func (r *Redis) lines(ctx context.Context) ([]Line, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var replies [2]*redis.XMessageSliceCmd
	pipe := r.client.Pipeline()
	for i, stream := range []string{requestsKey, unknownKey} {
		from := "-"
		if r.copy.last[i] != "" {
			from = following(r.copy.last[i])
		}
		replies[i] = pipe.XRange(ctx, stream, from, "+")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	r.copy.used = r.now()
	var fresh []Line
	for i, reply := range replies {
		for _, entry := range reply.Val() {
			r.copy.last[i] = entry.ID
			if line, ok := readEntry(entry); ok {
				fresh = append(fresh, line)
			}
		}
	}
	if fresh = read(fresh); len(fresh) > 0 {
		r.copy.lines = newest(slices.Concat(r.copy.lines, fresh))
	}
	return r.copy.lines, nil
}

// following returns the least id after another.
func following(id string) string {
	ms, number, _ := strings.Cut(id, "-")
	n, _ := strconv.ParseUint(number, 10, 64) // Redis wrote it
	return ms + "-" + strconv.FormatUint(n+1, 10)
}

func readEntry(entry redis.XMessage) (Line, bool) {
	at, _ := entry.Values["at"].(string)
	text, _ := entry.Values["line"].(string)
	micros, err := strconv.ParseInt(at, 10, 64)
	return Line{At: time.UnixMicro(micros).UTC(), Text: text}, err == nil && text != ""
}

// forget drops an unused copy.
func (r *Redis) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copy.last != [2]string{} && r.now().Sub(r.copy.used) > copyUnused {
		r.copy = linesCopy{}
	}
}

const (
	// watchedFrom is the number of a team's lines from which on a process reports their entries to Redis, which then drops some. A
	// team with fewer at each of 16 replicas stays below its share, and costs only its lines.
	watchedFrom = MostOfTeam / 16
	// reportedAtOnce is the least number of entries to report during a post. A team may exceed its share by that many for a moment.
	reportedAtOnce = 20
)

var (
	//go:embed scripts/share.lua
	shareLua    string
	shareScript = redis.NewScript(shareLua)
)

// posted are the last entries that this process added to the teams' stream.
type posted struct {
	mu    sync.Mutex // held during a post
	teams map[string]*postedOf
	order []*postedOf // the team of each entry, oldest first
	queue []*postedOf // teams with entries to report
}

// postedOf are the entries of a team.
type postedOf struct {
	team     string
	ids      []string // oldest first
	reported int      // how many of them were reported
	queued   bool
}

// add adds an entry.
func (p *posted) add(team, id string) {
	of := p.teams[team]
	if of == nil {
		of = &postedOf{team: team}
		p.teams[team] = of
	}
	of.ids, p.order = append(of.ids, id), append(p.order, of)
	if !of.queued && len(of.ids) >= watchedFrom {
		of.queued, p.queue = true, append(p.queue, of)
	}
	if len(p.order) > MostLines {
		p.order[0].dropFirst(p.teams)
		p.order = p.order[1:]
	}
}

// dropFirst removes an entry that the stream has dropped.
func (of *postedOf) dropFirst(teams map[string]*postedOf) {
	of.ids, of.reported = of.ids[1:], max(of.reported-1, 0)
	if len(of.ids) == 0 {
		delete(teams, of.team)
	}
}

// report reports to Redis the entries of teams that have at least so many unreported ones.
func (p *posted) report(ctx context.Context, pipe redis.Pipeliner, least int) {
	later := p.queue[:0]
	for _, of := range p.queue {
		ids := of.ids[of.reported:]
		if len(ids) < least {
			later = append(later, of)
			continue
		}
		args := []any{MostLines, MostOfTeam, Kept.Milliseconds()}
		for _, id := range ids {
			args = append(args, id)
		}
		// a pipeline does not fall back from EVALSHA
		shareScript.Eval(ctx, pipe, []string{requestsKey, entriesPrefix + of.team, teamsKey}, args...)
		of.reported, of.queued = len(of.ids), false
	}
	p.queue = later
}
