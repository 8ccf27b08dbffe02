package recent

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The keys. A team's keys have the team in their hash tag; the keys of lines are in the stream's slot.
const (
	keyPrefix     = "sl1:"
	requestsKey   = keyPrefix + "requests"
	unknownKey    = keyPrefix + "{" + requestsKey + "}:unknown"
	teamsKey      = keyPrefix + "{" + requestsKey + "}:teams"
	entriesPrefix = keyPrefix + "{" + requestsKey + "}:of:"
	hourForm      = "2006010215"
	dayForm       = "20060102"
)

// minutesKey returns the key of an hour or a day. The hash tag for all requests together is no team's.
func minutesKey(team, when string) string {
	if team == "" {
		team = keyPrefix + "min"
	}
	return keyPrefix + "{" + team + "}:min:" + when
}

func (of hourOf) key() string { return minutesKey(of.team, of.begins().Format(hourForm)) }

func dayKey(team string, at time.Time) string { return minutesKey(team, at.UTC().Format(dayForm)) }

// inTrip and linesInTrip bound the commands in a round trip of a post. Redis reads them in small parts and serves other clients in
// between. Lines are long, so fewer go in a trip: this process serves requests between two trips.
const (
	inTrip      = 1000
	linesInTrip = 100
)

var (
	//go:embed scripts/minutes.lua
	minutesLua    string
	minutesScript = redis.NewScript(minutesLua)
)

// Redis is the store that all replicas share. Create it with [NewRedis]. It is safe for concurrent use.
type Redis struct {
	client redis.UniversalClient
	now    func() time.Time

	posted posted

	mu   sync.Mutex
	copy linesCopy
}

// NewRedis returns a store in the client's Redis. The caller closes the client.
func NewRedis(client redis.UniversalClient, now func() time.Time) *Redis {
	return &Redis{client: client, now: now, posted: posted{teams: map[string]*postedOf{}}}
}

// Post implements [Store].
func (r *Redis) Post(ctx context.Context, p *Post) error {
	r.forget()
	err := r.postHours(ctx, p)
	if errLatencies := r.postLatencies(ctx, p); err == nil {
		err = errLatencies
	}
	if errLines := r.postLines(ctx, p); err == nil {
		err = errLines
	}
	return err
}

func (r *Redis) postHours(ctx context.Context, p *Post) (err error) {
	for from := 0; from < len(p.Hours); from += inTrip {
		hours := p.Hours[from:min(from+inTrip, len(p.Hours))]
		pipe := r.client.Pipeline()
		cmds := make([]*redis.Cmd, len(hours))
		for i, h := range hours {
			of := hourOf{h.Team, h.Begins.Unix() / 3600}
			args, day := []any{p.From, h.Number, Kept.Milliseconds(), ""}, Counts{}
			for minute, c := range h.Minutes {
				args = append(args, minute, c.text())
				day.Add(c)
			}
			args[3] = day.text()
			// a pipeline does not fall back from EVALSHA
			cmds[i] = minutesScript.Eval(ctx, pipe, []string{of.key(), dayKey(h.Team, h.Begins)}, args...)
		}
		if _, failed := pipe.Exec(ctx); failed != nil && err == nil {
			err = failed
		}
		for i, cmd := range cmds { // a single shard of a cluster may be unreachable
			hours[i].Stored = cmd.Err() == nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

func (r *Redis) postLines(ctx context.Context, p *Post) error {
	r.posted.mu.Lock()
	defer r.posted.mu.Unlock()
	slices.SortFunc(p.Lines, func(a, b Line) int { return a.At.Compare(b.At) }) // the stream drops the first entries first
	named := namesOf(p.Lines)
	for from := 0; from < len(p.Lines); from += linesInTrip {
		if err := r.addLines(ctx, p.Lines[from:min(from+linesInTrip, len(p.Lines))], named); err != nil {
			return err
		}
		named = nil
	}
	p.Kept = true
	if len(r.posted.queue) == 0 {
		return nil
	}
	pipe := r.client.Pipeline()
	r.posted.report(ctx, pipe, 1)
	_, err := pipe.Exec(ctx)
	return err
}

// namesOf returns the distinct teams of lines.
func namesOf(lines []Line) (names []any) {
	seen := map[string]bool{"": true}
	for i := range lines {
		if team := lines[i].team(); !seen[team] {
			seen[team], names = true, append(names, team)
		}
	}
	return names
}

// addLines adds lines to the streams, in one round trip. It adds their teams to the set of teams first, because a team's share depends
// on the number of teams.
func (r *Redis) addLines(ctx context.Context, lines []Line, named []any) error {
	pipe := r.client.Pipeline()
	if len(named) > 0 {
		pipe.SAdd(ctx, teamsKey, named...)
	}
	r.posted.report(ctx, pipe, reportedAtOnce) // the entries of the previous trip
	added := make([]*redis.StringCmd, len(lines))
	for i, line := range lines {
		stream, most := requestsKey, int64(MostLines)
		if line.team() == "" {
			stream, most = unknownKey, MostUnknown
		}
		added[i] = pipe.XAdd(ctx, &redis.XAddArgs{
			Stream: stream, MaxLen: most, Approx: true,
			Values: []string{"at", strconv.FormatInt(line.At.UnixMicro(), 10), "line", line.Text},
		})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for i, line := range lines {
		if team := line.team(); team != "" {
			r.posted.add(team, added[i].Val())
		}
	}
	return nil
}

// Minutes returns the counts of teams in the minutes that begin in [from, to), by team and time, in one round trip. Minutes without
// requests are left out. The team "" is all requests together.
func (r *Redis) Minutes(ctx context.Context, teams []string, from, to time.Time) (list []Minute, err error) {
	hours := hoursOf(teams, from, to)
	pipe := r.client.Pipeline()
	cmds := make([]*redis.MapStringStringCmd, len(hours))
	for i, of := range hours {
		cmds[i] = pipe.HGetAll(ctx, of.key())
	}
	if len(hours) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
	}
	for i, of := range hours {
		for field, text := range cmds[i].Val() {
			if minute, err := strconv.Atoi(field); err == nil && !strings.HasPrefix(field, "@") {
				var c Counts
				c.read(text)
				list = append(list, of.minute(minute, &c))
			}
		}
	}
	return between(list, from, to), nil
}

// Day returns the counts of teams on the day of at, in UTC, by team, in one round trip. Teams without requests are left out.
func (r *Redis) Day(ctx context.Context, teams []string, at time.Time) (map[string]Counts, error) {
	days := map[string]Counts{}
	if len(teams) == 0 {
		return days, nil
	}
	pipe := r.client.Pipeline()
	cmds := make([]*redis.StringCmd, len(teams))
	for i, team := range teams {
		cmds[i] = pipe.HGet(ctx, dayKey(team, at), "all")
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	for i, team := range teams {
		text, err := cmds[i].Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		if err == nil {
			var c Counts
			c.read(text)
			days[team] = c
		}
	}
	return days, nil
}
