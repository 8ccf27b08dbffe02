package recent

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// copyUnused is how long the copy of the stream is kept after its last use.
const copyUnused = 10 * time.Minute

// linesCopy is a copy of the stream, made when a person first looks at the requests and completed each time, so that a page reads
// only what is new.
type linesCopy struct {
	lines []Line // sorted; never changed, only replaced
	last  string // id of the last entry; empty: nothing was read
	used  time.Time
}

// Requests returns a page of the last requests, after one round trip.
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
	from := "-"
	if r.copy.last != "" {
		from = following(r.copy.last)
	}
	entries, err := r.client.XRange(ctx, requestsKey, from, "+").Result()
	if err != nil {
		return nil, err
	}
	r.copy.used = r.now()
	if len(entries) == 0 {
		return r.copy.lines, nil
	}
	lines := slices.Clone(r.copy.lines)
	for _, entry := range entries {
		if line, ok := readEntry(entry); ok {
			lines = append(lines, line)
		}
	}
	r.copy.last = entries[len(entries)-1].ID
	r.copy.lines = newest(lines)
	return r.copy.lines, nil
}

// following is the least id of a stream behind another.
func following(id string) string {
	ms, number, _ := strings.Cut(id, "-")
	n, _ := strconv.ParseUint(number, 10, 64) // Redis wrote it
	return ms + "-" + strconv.FormatUint(n+1, 10)
}

func readEntry(entry redis.XMessage) (Line, bool) {
	at, _ := entry.Values["at"].(string)
	text, _ := entry.Values["line"].(string)
	micros, err := strconv.ParseInt(at, 10, 64)
	return Line{time.UnixMicro(micros).UTC(), text}, err == nil && text != ""
}

// forget drops a copy that is not used.
func (r *Redis) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copy.last != "" && r.now().Sub(r.copy.used) > copyUnused {
		r.copy = linesCopy{}
	}
}
