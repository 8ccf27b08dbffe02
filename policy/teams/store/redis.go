package store

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/teams"
)

// The keys. The hash tag puts all of them into the slot of the first.
const (
	directoryKey = "sl1:directory"
	auditKey     = "sl1:{sl1:directory}:audit"
	usedKey      = "sl1:{sl1:directory}:used"
	replicasKey  = "sl1:{sl1:directory}:replicas"
	writtenKey   = "sl1:{sl1:directory}:written:" // prefix of the day
)

var (
	//go:embed scripts/write.lua
	writeLua    string
	writeScript = redis.NewScript(writeLua)
	//go:embed scripts/used.lua
	usedLua    string
	usedScript = redis.NewScript(usedLua)
	//go:embed scripts/report.lua
	reportLua    string
	reportScript = redis.NewScript(reportLua)
)

// Redis keeps the directory in Redis. It is safe for concurrent use.
type Redis struct{ client redis.UniversalClient }

// NewRedis returns a store in the Redis of a client, which the caller closes.
func NewRedis(client redis.UniversalClient) *Redis { return &Redis{client} }

// Head implements [teams.Store].
func (r *Redis) Head(ctx context.Context) (string, error) {
	head, err := r.client.HGet(ctx, directoryKey, "head").Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return head, err
}

// Read implements [teams.Store].
func (r *Redis) Read(ctx context.Context) (s teams.State, err error) {
	got, err := r.client.HMGet(ctx, directoryKey, "document", "entry", "first", "raises").Result()
	if err != nil {
		return s, err
	}
	document, _ := got[0].(string)
	entry, ok := got[1].(string)
	if !ok {
		return s, nil
	}
	first, _ := got[2].(string)
	if s.First, err = strconv.ParseInt(first, 10, 64); err != nil {
		return s, fmt.Errorf("%s has no number in its field first", directoryKey)
	}
	s.Last = []byte(entry)
	if document != "" {
		s.Document = []byte(document)
	}
	if raises, _ := got[3].(string); raises != "" {
		s.Raises = []byte(raises)
	}
	return s, nil
}

// Write implements [teams.Store].
func (r *Redis) Write(ctx context.Context, was, next teams.State) error {
	entry, err := teams.ReadEntry(next.Last)
	if err != nil {
		return err
	}
	const keep = teams.KeptDays * 24 * time.Hour
	wrote, err := writeScript.Run(ctx, r.client, []string{directoryKey, auditKey, writtenOn(entry.Time)},
		was.Head(), next.Document, next.Last, next.Head(), entry.Seq, next.First, keep.Milliseconds(), entry.Team, next.Raises).Int()
	if err == nil && wrote == 0 {
		return teams.ErrLost
	}
	return err
}

// writtenOn is the key of the bytes of a day's entries, by team.
func writtenOn(at time.Time) string { return writtenKey + at.UTC().Format("20060102") }

// Written implements [teams.Store].
func (r *Redis) Written(ctx context.Context, team string, at time.Time) (int64, error) {
	written, err := r.client.HGet(ctx, writtenOn(at), team).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return written, err
}

// Report implements [teams.Store].
func (r *Redis) Report(ctx context.Context, own teams.Report) ([]teams.Report, error) {
	text := []byte{}
	if !own.Left {
		var err error
		if text, err = json.Marshal(own); err != nil {
			return nil, err
		}
	}
	texts, err := reportScript.Run(ctx, r.client, []string{replicasKey}, own.Replica, text, teams.ReportKept.Milliseconds()).StringSlice()
	if err != nil {
		return nil, err
	}
	all := make([]teams.Report, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// page is how many entries are read in one call. Old ones may have some 100 KiB.
const page = 100

// Entries implements [teams.Store].
func (r *Redis) Entries(ctx context.Context, backwards bool) iter.Seq2[[]byte, error] {
	read, from, to := r.client.XRangeN, "-", "+"
	if backwards {
		read, from, to = r.client.XRevRangeN, "+", "-"
	}
	return func(yield func([]byte, error) bool) {
		for at, more := from, true; more; {
			entries, err := read(ctx, auditKey, at, to, page).Result()
			if err != nil {
				yield(nil, err)
				return
			}
			for _, entry := range entries {
				text, _ := entry.Values["entry"].(string)
				if !yield([]byte(text), nil) {
					return
				}
				at = "(" + entry.ID
			}
			more = len(entries) == page
		}
	}
}

// Used implements [teams.Store].
func (r *Redis) Used(ctx context.Context) (map[string]time.Time, error) {
	hours, err := r.client.HGetAll(ctx, usedKey).Result()
	if err != nil {
		return nil, err
	}
	used := make(map[string]time.Time, len(hours))
	for key, text := range hours {
		if hour, err := strconv.ParseInt(text, 10, 64); err == nil {
			used[key] = time.Unix(hour*3600, 0).UTC()
		}
	}
	return used, nil
}

// NoteUsed implements [teams.Store].
func (r *Redis) NoteUsed(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	args := make([]any, 0, 2*len(used))
	for key, at := range used {
		args = append(args, key, max(at.Unix()/3600, 0))
	}
	return usedScript.Run(ctx, r.client, []string{usedKey}, args...).Err()
}
