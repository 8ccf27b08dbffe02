package figures

import (
	"cmp"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

// The house of the bar: 300 teams, 60 models and 400 days; a thousand values of a tag a day. docs/performance.md has the figures. Each
// team uses all models every day, or as many as BENCH_MODELS says.
const (
	benchTeams  = 300
	benchModels = 60
	benchTags   = 1000
	benchDays   = limit.LedgerDays
	benchReal   = 6 // days that are in the ledger; the others are only in sums
)

func benchTeam(n int) string  { return fmt.Sprintf("team-%03d", n) }
func benchModel(m int) string { return fmt.Sprintf("llm-%d-2026-01-%02d", m, m%28+1) }

// benchEach is how many models each team uses every day.
func benchEach(b *testing.B, most int) int {
	b.Helper()
	each, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_MODELS"), strconv.Itoa(most)))
	if err != nil {
		b.Fatal(err)
	}
	return each
}

// benchFile is the teams file, with a quota and more limits for each team.
func benchFile(b *testing.B, more string) *teams.File {
	b.Helper()
	text := "teams:\n"
	for n := range benchTeams {
		text += fmt.Sprintf("  - {id: %s, quotas: {tokens: {day: 1000000}}%s}\n", benchTeam(n), more)
	}
	file, err := teams.Parse([]byte(text))
	if err != nil {
		b.Fatal(err)
	}
	return file
}

// More limits of each team: of its rates, and of the values of its tag.
const (
	benchRates = ", rates: {requests: {per: 1m, limit: 600}, tokens: {per: 1m, limit: 900000}}"
	benchParts = benchRates + ", tag_key: project, tag_quotas: {spend: {day: 5}}"
)

// fill writes the ledger as the scripts do.
func fill(b *testing.B, client redis.UniversalClient, now time.Time) {
	b.Helper()
	each := benchEach(b, benchModels)
	for n := range benchTeams {
		team := benchTeam(n)
		pipe := client.Pipeline()
		pipe.SAdd(b.Context(), "sl1:teams", team)
		pipe.HSet(b.Context(), fmt.Sprintf("sl1:{%s}:quota", team), "epoch", 1, "seq", 1)
		for _, day := range lastDays(now, benchReal) {
			values, tags := []any{"day", day}, []any{"day", day}
			for i := range each {
				m := (n + i) % benchModels
				name := benchModel(m) + "|text|"
				digest := sha1.Sum([]byte(benchModel(m) + "|text"))
				values = append(values, string(digest[:6]), benchKinds(m%3))
				values = append(values, name+"requests", 100+n+m, name+"tokens", 90_000+n, name+"spend", 72_000_000+day, name+"spend|estimated", m+1)
			}
			for i := range benchTags / 100 {
				name := fmt.Sprintf("project-%d||", (n*benchTags/100+i)%benchTags)
				tags = append(tags, "#"+name[:len(name)-2], 1, name+"requests", 100+n, name+"tokens", 90_000+n, name+"spend", 72_000_000+day)
			}
			pipe.HSet(b.Context(), fmt.Sprintf("sl1:{%s}:use:%d", team, day), values...)
			pipe.HSet(b.Context(), fmt.Sprintf("sl1:{%s}:use:%d:tags", team, day), tags...)
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// benchKinds is what a row used by kind: three kinds of tokens, one more, or pictures of two sizes.
func benchKinds(m int) string {
	var s price.Sum
	for i, kind := range [][]price.Kind{{price.Input, price.Cached, price.Output}, {price.Input, price.Cached, price.Output, price.Thinking},
		{price.Image, price.Image}}[m] {
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
	fill(b, client, clock())
	file := benchFile(b, "")
	open := func() *Figures {
		store := redisstore.New(client)
		accounts := failover.New(failover.Config{Store: store, Timeout: time.Minute, Replicas: 1, Now: time.Now})
		b.Cleanup(func() { _ = accounts.Close(context.Background()) })
		return New(Deps{
			Teams: func() *teams.File { return file }, Balances: accounts, House: accounts, Recent: recent.NewRedis(client, clock), Now: clock,
			Days:  NewRedisSums(client),
			Tasks: cache.NewRedis(cache.RedisConfig{Client: client, Timeout: time.Second, TTL: 24 * time.Hour, Now: clock}),
		})
	}
	b.Run("sums of a day", func(b *testing.B) { makeSums(b, open()) })
	for _, page := range benchPages(b, clock) {
		file = benchFile(b, page.limits)
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
		for _, change := range []int{0, benchTeams / 6} {
			b.Run(fmt.Sprintf("%s/next,%d-changed", page.name, change), func(b *testing.B) {
				next(b, f, page, func() {
					ahead += freshFor
					use(b, client, clock(), change)
				})
			})
		}
	}
}

// BenchmarkPagesInMemory measures them where the accounts are in the process, with six models a team.
func BenchmarkPagesInMemory(b *testing.B) {
	each, now := benchEach(b, 6), time.Now()
	at := now
	clock := func() time.Time { return at }
	accounts, file := limit.NewMemory(clock), benchFile(b, benchParts)
	spend := func(n, model int) {
		h := &limit.Hold{ID: fmt.Sprint(at.Unix(), n, model), Team: file.List[n], Model: benchModel(model), Endpoint: policy.EndpointText,
			Amounts: limit.Amounts{1, 900, 0, 72_000}, Lease: time.Hour, Tag: "alpha"}
		v, err := accounts.Admit(b.Context(), h)
		if err != nil || v.Held == nil {
			b.Fatal(v.Fault, err)
		}
		if _, err := accounts.Settle(b.Context(), &limit.Charge{Held: v.Held, Team: h.Team, Amounts: h.Amounts,
			Kinds: price.ByKind(benchKinds(model % 3))}); err != nil {
			b.Fatal(err)
		}
	}
	for day := range benchDays {
		at = now.AddDate(0, 0, 1+day-benchDays)
		for n := range benchTeams {
			for model := range each {
				spend(n, (n+model)%benchModels)
			}
		}
	}
	f := New(Deps{
		Teams: func() *teams.File { return file }, Balances: accounts, House: limit.House{Memory: accounts}, Days: new(MemorySums),
		Recent: recent.NewMemory(clock), Now: clock, Tasks: cache.NewClaims(24*time.Hour, clock),
	})
	for adding := (*AddingError)(nil); ; {
		if err := benchPages(b, clock)[1].read(f); !errors.As(err, &adding) {
			break
		}
	}
	for _, page := range benchPages(b, clock) {
		if page.limits == "" || page.limits == benchParts {
			b.Run(page.name, func(b *testing.B) {
				next(b, f, page, func() {
					at = at.Add(freshFor)
					for n := range benchTeams / 6 {
						spend(n, n%benchModels)
					}
				})
			})
		}
	}
}

// benchPage is a page that is measured.
type benchPage struct {
	name, limits string // of each team beside a quota
	read         func(f *Figures) error
}

func benchPages(b *testing.B, clock func() time.Time) []benchPage {
	money := func(days int, by string) func(f *Figures) error {
		return func(f *Figures) error {
			now := clock()
			_, err := f.Money(b.Context(), operator, MoneyQuery{now.AddDate(0, 0, 1-days).Format(limit.DayForm), now.Format(limit.DayForm), by, "",
				nil})
			return err
		}
	}
	lines := func(f *Figures) error { _, err := f.Lines(b.Context(), operator); return err }
	return []benchPage{
		{"Money of 30 days", "", money(30, "team")},
		{"Money of 400 days", "", money(benchDays, "team")},
		{"Money of 400 days by model", "", money(benchDays, "model")},
		{"Money of 400 days by kind", "", money(benchDays, "kind")},
		{"Money of 400 days by day", "", money(benchDays, "day")},
		{"Money of 400 days by tag", "", money(benchDays, "tag")},
		{"Now", "", func(f *Figures) error { _, err := f.Now(b.Context(), operator, false); return err }},
		{"Teams", "", lines},
		{"Teams with rates", benchRates, lines},
		{"Teams with rates and tags", benchParts, lines},
		{"Now with rates and tags", benchParts, func(f *Figures) error { _, err := f.Now(b.Context(), operator, false); return err }},
		{"Team", "", func(f *Figures) error { _, err := f.Team(b.Context(), operator, "team-007"); return err }},
		{"Tasks", "", func(f *Figures) error { _, err := f.TaskList(b.Context(), operator, TaskFilter{}); return err }},
	}
}

// next measures pages of a process that has read the page before.
func next(b *testing.B, f *Figures, page benchPage, change func()) {
	b.Helper()
	if err := page.read(f); err != nil {
		b.Fatal(err)
	}
	own := time.Duration(0)
	for b.Loop() {
		b.StopTimer()
		change()
		b.StartTimer()
		begun := processor(b)
		if err := page.read(f); err != nil {
			b.Fatal(err)
		}
		own += processor(b) - begun
	}
	b.ReportMetric(float64(own.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// use has some teams use more of a model today, as the scripts write it.
func use(b *testing.B, client redis.UniversalClient, now time.Time, count int) {
	b.Helper()
	pipe := client.Pipeline()
	for n := range count {
		pipe.HIncrBy(b.Context(), fmt.Sprintf("sl1:{%s}:quota", benchTeam(n)), "seq", 1)
		pipe.HIncrBy(b.Context(), fmt.Sprintf("sl1:{%s}:use:%d", benchTeam(n), price.DayOf(now)), benchModel(n%benchModels)+"|text|requests", 1)
	}
	if _, err := pipe.Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// processor is the processor's time that this process has taken.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// makeSums makes the sums of the past days of the ledger, once, and has those of the other days like them.
func makeSums(b *testing.B, f *Figures) {
	due, versions, err := f.due(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var sums map[DayBy]Sum
	for b.Loop() {
		if sums, err = f.make(b.Context(), due[:1], versions); err != nil {
			b.Fatal(err)
		}
	}
	for _, day := range due {
		like := map[DayBy]Sum{}
		for of, sum := range sums {
			like[DayBy{day, of.By}] = sum
		}
		if err := f.kept.Save(b.Context(), like); err != nil {
			b.Fatal(err)
		}
	}
}
