package failover

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// BenchmarkGrowth is what an admission with its settlement costs this process and Redis, and how many scripts it runs, as teams, open
// tasks of a team and days of its ledger grow. There are 64 callers.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("teams=%d", n), func(b *testing.B) { newGrown(b, n).decide(b) })
	}
	for _, n := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprintf("open-tasks=%d", n), func(b *testing.B) {
			g := newGrown(b, 1)
			g.each(n, func(i int) {
				h := benchHold(i, g.teams[0])
				h.ID, h.Task = "task-"+strconv.Itoa(i), true
				g.admit(h)
			})
			g.decide(b)
		})
	}
	for _, n := range []int{1, 20, 400} {
		b.Run(fmt.Sprintf("ledger-days=%d", n), func(b *testing.B) {
			g := newGrown(b, 1)
			g.fillLedger(n)
			g.decide(b)
		})
	}
}

// grown are accounts in Redis that have grown.
type grown struct {
	*testing.B
	client   redis.UniversalClient
	accounts *Failover
	teams    []*teams.Team
}

func newGrown(b *testing.B, count int) *grown {
	client := limittest.TCPRedis(b)
	g := &grown{b, client, New(Config{Store: redisstore.New(client), Timeout: 10 * time.Second, Replicas: 1, Now: time.Now}),
		benchTeams(b, count)}
	g.each(count, func(i int) { g.admit(benchHold(i, g.teams[i])) }) // a team's first request at a process asks for more
	return g
}

// each calls a function with each number below n, 64 at a time.
func (g *grown) each(n int, do func(i int)) {
	var next atomic.Int64
	var calling sync.WaitGroup
	for range 64 {
		calling.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !g.Failed(); i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	calling.Wait()
}

func (g *grown) admit(h *limit.Hold) *limit.Held {
	v, err := g.accounts.Admit(g.Context(), h)
	if err != nil || v.Held == nil {
		g.Error(v, err)
	}
	return v.Held
}

// fillLedger gives the team past days of three models.
func (g *grown) fillLedger(days int) {
	pipe := g.client.Pipeline()
	for day := range days {
		key := "sl1:{" + g.teams[0].ID + "}:use:" + time.Now().UTC().AddDate(0, 0, -day-1).Format("20060102")
		for _, model := range []string{"a", "b", "c"} {
			pipe.HSet(g.Context(), key, "day", key[len(key)-8:], model+"|text|requests", 1, model+"|text|tokens", 1000, model+"|text|spend", 500)
		}
	}
	if _, err := pipe.Exec(g.Context()); err != nil {
		g.Fatal(err)
	}
}

// decide admits and settles b.N requests of all teams in turn.
func (g *grown) decide(b *testing.B) {
	before, own := g.asked(), cpuTime()
	b.ResetTimer()
	g.each(b.N, func(i int) {
		h := benchHold(i, g.teams[i%len(g.teams)])
		h.ID = "text-" + strconv.Itoa(i)
		if held := g.admit(h); held != nil {
			g.accounts.SettleLater(&limit.Charge{Held: held, Team: h.Team, Amounts: limit.Amounts{1, 100, 0, 50}})
		}
	})
	_ = g.accounts.Close(b.Context()) // the settlements count
	b.StopTimer()
	after, n := g.asked(), float64(b.N)
	b.ReportMetric((cpuTime()-own)/n, "cpu-µs/decision")
	b.ReportMetric((after.cpu-before.cpu)/n, "redis-µs/decision")
	b.ReportMetric((after.scripts-before.scripts)/n, "scripts/decision")
	b.ReportMetric((after.commands-before.commands)/n, "commands/decision")
	b.ReportMetric(0, "ns/op")
}

// askedOf is what Redis did: µs of processor time, scripts, and commands, also those of scripts.
type askedOf struct{ cpu, scripts, commands float64 }

func (g *grown) asked() (a askedOf) {
	for line := range strings.Lines(g.client.Info(g.Context(), "cpu", "commandstats").Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		n, _ := strconv.ParseFloat(calls, 64)
		switch {
		case name == "used_cpu_sys" || name == "used_cpu_user":
			a.cpu += n * 1e6
		case strings.HasPrefix(name, "cmdstat_eval"):
			a.scripts += n
		case strings.HasPrefix(name, "cmdstat_"):
			a.commands += n
		}
	}
	return a
}

// cpuTime is this process's processor time in µs.
func cpuTime() float64 {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e3
}
