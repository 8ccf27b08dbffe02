package recent

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// copyUnused is how long the copy of the streams is kept after its last use.
const copyUnused = 10 * time.Minute

// linesCopy is a copy of the streams, made when a person first looks at the requests and completed each time, so that a page reads
// only what is new.
type linesCopy struct {
	lines []Line    // sorted and read; never changed, only replaced
	last  [2]string // id of the last entry of each stream; empty: nothing was read
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
	return Line{At: time.UnixMicro(micros).UTC(), Text: text}, err == nil && text != ""
}

// forget drops a copy that is not used.
func (r *Redis) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copy.last != [2]string{} && r.now().Sub(r.copy.used) > copyUnused {
		r.copy = linesCopy{}
	}
}
