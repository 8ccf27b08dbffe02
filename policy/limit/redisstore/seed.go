package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// errRaced is the error of a seeding during which other replicas changed the account each time.
var errRaced = errors.New("other replicas change the account at the same time")

// Seed makes sure that an account outside of the teams counts what all teams used of it, and lists this replica as one that charges it
// with the teams. It raises the account's use in three cases: it was never seeded; a replica that has run since then is not in the list,
// and so charged only the teams; or this replica charged only the teams (alone). The use may then be too large: by what is admitted
// while it reads, and by what requests in flight hold and will not use. It changes nothing in an account that is being restored.
func Seed(ctx context.Context, r *Store, account string, alone bool) error {
	for range 3 {
		f, err := readSeedState(ctx, r, account)
		if err != nil {
			return err
		}
		raise := alone || f.incomplete(r.Peer.ID)
		args := seedArgs{Replica: r.Peer.ID, Live: f.live, Was: f.raised, At: f.at.UnixMicro(), Raise: raise, Rows: []seedRow{}}
		if !args.Raise && f.lists[r.Peer.ID] {
			return nil
		}
		if args.Raise {
			if args.Rows, err = missing(ctx, r, account, limit.CalendarOf(f.at)); err != nil {
				return err
			}
		}
		if done, err := runSeed(ctx, r, account, args); done || err != nil {
			return err
		}
	}
	return errRaced
}

// Unlist removes this replica from the list of those that charge an account outside of the teams.
func Unlist(ctx context.Context, r *Store, account string) error {
	return r.client.HDel(ctx, r.teams.Get(account).chargers(), r.Peer.ID).Err()
}

// seedState is when an account outside of the teams was raised last, and which replicas charge it.
type seedState struct {
	at     time.Time // when it was read, by Redis's clock
	raised int64     // when it was raised last, in microseconds by Redis's clock; 0: never
	lists  map[string]bool
	live   []string         // replicas that Redis remembers
	beats  map[string]int64 // their last beats
}

// incomplete reports whether a replica other than this one was alive after the account was raised, and did not charge it.
func (f *seedState) incomplete(own string) bool {
	if f.raised == 0 {
		return true
	}
	for id, beat := range f.beats {
		if id != own && !f.lists[id] && beat > f.raised {
			return true
		}
	}
	return false
}

func readSeedState(ctx context.Context, r *Store, account string) (f seedState, err error) {
	k := r.teams.Get(account)
	pipe := r.client.Pipeline()
	now, raised := pipe.Time(ctx), pipe.HGet(ctx, k.quota, "raised")
	lists, beats := pipe.HKeys(ctx, k.chargers()), pipe.HGetAll(ctx, replicasKey)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return f, err
	}
	if err := raised.Err(); err != nil && !errors.Is(err, redis.Nil) {
		return f, err
	}
	f.at, f.lists, f.beats, f.live = now.Val(), map[string]bool{}, map[string]int64{}, []string{}
	if clock := r.Clock(); clock > 0 {
		f.at = time.UnixMicro(clock)
	}
	f.raised, _ = raised.Int64()
	for _, id := range lists.Val() {
		f.lists[id] = true
	}
	for id, beat := range beats.Val() {
		if len(id) > beatField {
			f.live = append(f.live, id)
			f.beats[id], _ = strconv.ParseInt(beat, 10, 64)
		}
	}
	return f, nil
}

// beatField is the length of the longest field of the hash of replicas that names no replica.
const beatField = 5

// missing is what an account outside of the teams lacks of what all teams used and hold of it. It reads the account first: what is
// admitted while it reads counts twice rather than not at all.
func missing(ctx context.Context, r *Store, account string, date limit.Calendar) ([]seedRow, error) {
	fields := make([]string, 0, 2*limit.QuotaCount)
	for q := range limit.QuotaCount {
		fields = append(fields, fieldOf(date.Day, q, ":used"), fieldOf(date.Day, q, ":held"))
	}
	got, err := r.client.HMGet(ctx, r.teams.Get(account).quota, fields...).Result()
	if err != nil {
		return nil, err
	}
	var all limit.Taken
	if at, only := teams.AccountOfQuotas(account); only {
		all, err = takenAt(ctx, r, at, &date)
	} else {
		all, err = takenByTeams(ctx, r, fields)
	}
	rows := []seedRow{}
	for q, n := range all.Minus(takenOf(got)) {
		if n > 0 {
			rows = append(rows, seedRow{strconv.Itoa(periodOf(date.Day, q)) + ":" + string(unit.Names[q/2]), n})
		}
	}
	return rows, err
}

// takenByTeams is what all teams used and hold, by the fields of what each used and holds of each quota in turn.
func takenByTeams(ctx context.Context, r *Store, fields []string) (all limit.Taken, err error) {
	err = eachTeam(ctx, r, func(pipe redis.Pipeliner, teams []*team) func() {
		asked := make([]*redis.SliceCmd, len(teams))
		for i, t := range teams {
			asked[i] = pipe.HMGet(ctx, t.quota, fields...)
		}
		return func() {
			for i := range asked {
				all = all.Plus(takenOf(asked[i].Val()))
			}
		}
	})
	return all, err
}

// takenOf reads what was used and is held of each quota, in turn.
func takenOf(values []any) (t limit.Taken) {
	for i, v := range values {
		text, _ := v.(string) // absent: 0
		n, _ := strconv.ParseInt(text, 10, 64)
		t[i/2] += n
	}
	return t
}

// seedArgs are the arguments of seed.lua.
type seedArgs struct {
	knownArgs
	Replica string    `json:"replica"`
	Live    []string  `json:"live"`
	Was     int64     `json:"was"`
	At      int64     `json:"at"`
	Raise   bool      `json:"raise"`
	Rows    []seedRow `json:"rows"`
}

type seedRow struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// runSeed runs seed.lua, and reports false if another replica changed the account meanwhile.
func runSeed(ctx context.Context, r *Store, account string, args seedArgs) (done bool, err error) {
	t := r.teams.Get(account)
	err = r.restoring(ctx, account, func() error {
		args.knownArgs = t.version().args()
		c := r.begin(seedScript, args, t.key)
		c.noMoney = len(args.Rows) == 0
		in, err := r.run(ctx, c)
		if err != nil {
			return err
		}
		done = in.next() == 1
		in.next() // the time
		return in.end()
	})
	return done, err
}

// accountless are the rows of the ledger without a known account. Accounts need no such rows: their own quotas are restored.
var accountless = map[string]bool{"restored|other": true, "allowance|other": true}

// takenAt is what all teams used and hold on an account at the service, on a date and in its month: by their open holds and the ledger.
// It reads the holds first: what is settled while it reads counts twice rather than not at all.
func takenAt(ctx context.Context, r *Store, account string, date *limit.Calendar) (all limit.Taken, err error) {
	texts, err := openTexts(ctx, r)
	if err != nil {
		return all, err
	}
	for _, text := range texts {
		if at, day, amounts, ok := readHeld(text); ok && at == account {
			all.Add(date, day, &amounts)
		}
	}
	rows, err := r.Rows(ctx, limit.Query{Days: date.MonthDays()})
	for i := range rows {
		row := &rows[i]
		if limit.AccountName(row.Account) == account && !accountless[limit.LedgerName(row.Model, row.Endpoint, row.Account)] {
			all.Add(date, row.Day, &row.Used)
		}
	}
	return all, err
}

// openTexts are the texts of all teams' open holds.
func openTexts(ctx context.Context, r *Store) (texts []string, err error) {
	open := map[*team][]string{}
	err = eachTeam(ctx, r, func(pipe redis.Pipeliner, teams []*team) func() {
		ids := make([]*redis.StringSliceCmd, len(teams))
		for i, t := range teams {
			ids[i] = pipe.ZRange(ctx, t.open, 0, -1)
		}
		return func() {
			for i, t := range teams {
				open[t] = ids[i].Val()
			}
		}
	})
	if err != nil {
		return nil, err
	}
	pipe := r.client.Pipeline()
	var asked []*redis.SliceCmd
	for t, ids := range open {
		for some := range slices.Chunk(ids, openBatch) {
			keys := make([]string, len(some))
			for i, id := range some {
				keys[i] = t.hold + id
			}
			asked = append(asked, pipe.MGet(ctx, keys...))
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	_, err = pipe.Exec(ctx)
	for _, cmd := range asked {
		for _, value := range cmd.Val() {
			if text, is := value.(string); is {
				texts = append(texts, text)
			}
		}
	}
	return texts, err
}

// readHeld reads from a hold's text (holds.lua) its account, its day, and what it holds; ok is false if it holds nothing.
func readHeld(text string) (account string, day int, amounts limit.Amounts, ok bool) {
	words := strings.Fields(text)
	team := 7 + 2*len(amounts)
	if len(words) <= team || words[0] != "held" {
		return "", 0, amounts, false
	}
	day, err := strconv.Atoi(words[4])
	for i := range amounts {
		n, failed := strconv.ParseInt(words[6+i], 10, 64)
		if amounts[i] = n; failed != nil {
			err = failed
		}
	}
	name, _, _ := strings.Cut(words[team], "/")
	_, account, _ = strings.Cut(name, "@")
	return limit.AccountName(account), day, amounts, err == nil
}
