package figures

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

// The largest house: a thousand teams, and four hundred days of three models each. docs/performance.md has the figures.
const (
	benchTeams = 1000
	benchDays  = limit.LedgerDays
)

// fill writes the ledger as the scripts do.
func fill(b *testing.B, client redis.UniversalClient, now time.Time) *teams.File {
	b.Helper()
	file := &strings.Builder{}
	fmt.Fprintln(file, "teams:")
	for n := range benchTeams {
		team := fmt.Sprintf("team-%03d", n)
		fmt.Fprintf(file, "  - {id: %s, quotas: {tokens: {day: 1000000}}}\n", team)
		pipe := client.Pipeline()
		pipe.SAdd(b.Context(), "sl1:teams", team)
		for _, day := range lastDays(now, benchDays) {
			values := []any{"day", day}
			for m, model := range []string{"llm-plus", "llm-max", "gen2.6-image"} {
				name := model + "|text|"
				digest := sha1.Sum([]byte(model + "|text"))
				values = append(values, string(digest[:6]), benchKinds(m))
				values = append(values, name+"requests", 100+n+m, name+"tokens", 90_000+n, name+"spend", 72_000_000+day, name+"spend|estimated", m)
			}
			pipe.HSet(b.Context(), fmt.Sprintf("sl1:{%s}:use:%d", team, day), values...)
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	read, err := teams.Parse([]byte(file.String()))
	if err != nil {
		b.Fatal(err)
	}
	return read
}

// benchKinds is what a row used by kind: three kinds of tokens, one more, or pictures of two sizes.
func benchKinds(m int) string {
	var s price.Sum
	for i, kind := range [][]price.Kind{{price.Input, price.Cached, price.Output}, {price.Input, price.Cached, price.Output, price.Thinking}, {price.Image, price.Image}}[m] {
		var b price.Bill
		b[kind] = price.Line{Kind: kind, Quantity: 30_000, Rate: 800_000_000, Amount: 24_000_000}
		if kind == price.Image {
			b[kind].Size = fmt.Sprint(1 << 20 << (2 * i))
		}
		s.AddBill(&b)
	}
	return string(s.ByKind())
}

// BenchmarkPages measures the pages that read most, in a house of the largest size in Redis: a process's first reading, and the
// next ones. Each reads the days that may still change from Redis.
func BenchmarkPages(b *testing.B) {
	client := limittest.RealRedis(b)
	var ahead time.Duration
	clock := func() time.Time { return time.Now().Add(ahead) }
	file := fill(b, client, clock())
	open := func() *Figures {
		store := redisstore.New(client)
		accounts := failover.New(failover.Config{Store: store, Timeout: time.Minute, Replicas: 1, Now: time.Now})
		b.Cleanup(func() { _ = accounts.Close(context.Background()) })
		return New(Deps{
			Teams: func() *teams.File { return file }, Accounts: accounts, Versions: accounts.Versions, Lately: recent.NewRedis(client, clock), Now: clock, Days: NewRedisSums(client),
			Tasks: cache.NewRedis(cache.RedisConfig{Client: client, Timeout: time.Second, TTL: 24 * time.Hour, Now: clock}),
		})
	}
	b.Run("sums of a day", func(b *testing.B) { makeSums(b, open()) })
	money := func(days int, by string) func(f *Figures) error {
		return func(f *Figures) error {
			now := clock()
			_, err := f.Money(b.Context(), operator, MoneyQuery{now.AddDate(0, 0, 1-days).Format(limit.DayForm), now.Format(limit.DayForm), by, "", nil})
			return err
		}
	}
	for _, page := range []struct {
		name string
		read func(f *Figures) error
	}{
		{"Money of 30 days", money(30, "team")},
		{"Money of 400 days", money(benchDays, "team")},
		{"Money of 400 days by model", money(benchDays, "model")},
		{"Money of 400 days by kind", money(benchDays, "kind")},
		{"Now", func(f *Figures) error { _, err := f.Now(b.Context(), operator, false); return err }},
		{"Teams", func(f *Figures) error { _, err := f.Lines(b.Context(), operator); return err }},
		{"Team", func(f *Figures) error { _, err := f.Team(b.Context(), operator, "team-007"); return err }},
		{"Tasks", func(f *Figures) error { _, err := f.TaskList(b.Context(), operator, TaskFilter{}); return err }},
	} {
		b.Run(page.name+"/first", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f := open()
				b.StartTimer()
				if err := page.read(f); err != nil {
					b.Fatal(err)
				}
			}
		})
		f := open()
		b.Run(page.name+"/next", func(b *testing.B) {
			if err := page.read(f); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				ahead += freshFor
				if err := page.read(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// makeSums makes the sums of all past days, once.
func makeSums(b *testing.B, f *Figures) {
	due, versions, err := f.due(b.Context())
	renew := func(day int) {
		sums, err := f.make(b.Context(), []int{day}, versions)
		if err = errors.Join(err, f.kept.Save(b.Context(), sums)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err != nil || len(due) == 0 {
			b.Fatalf("no day is due: %v", err)
		}
		renew(due[0])
		due = due[1:]
	}
	for _, day := range due {
		renew(day)
	}
}
