package failover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// Three replicas with 64 workers each pass a team's thresholds, while Redis is killed and started again from its last dump, or without one:
// each threshold is told once.
func TestAThresholdIsToldOnceThroughARestart(t *testing.T) {
	for _, saved := range []bool{true, false} {
		t.Run(fmt.Sprintf("from a dump %v", saved), func(t *testing.T) {
			server := startRestarting(t)
			team := limittest.Team(t, "quotas: {images: {month: 3000}}")
			var replicas [3]*Failover
			var events *outbox.Outbox
			var client *redis.Client
			for i := range replicas {
				var f *Failover
				f, client = server.replica()
				events = outbox.New(client, event.DefaultBounds)
				f.Store.Events, f.Store.Alerts, replicas[i] = events, func(string) (*teams.Team, []int, []event.Target, bool) {
					return team, []int{25, 50, 75}, []event.Target{{Address: event.Address{Owner: "search", Hook: "jobs"}}}, true
				}, f
			}
			var used atomic.Int64
			told := map[string]int{}
			work := func(images int64, meanwhile func()) {
				t.Helper()
				var working sync.WaitGroup
				for i, f := range replicas {
					for n := range 64 {
						working.Go(func() {
							for used.Load() < images {
								h := &limit.Hold{ID: fmt.Sprint("h-", i, "-", n, "-", used.Load()), Team: team,
									Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 1}, Lease: time.Hour}
								v, err := f.Admit(context.Background(), h)
								if err != nil || v.Held == nil {
									time.Sleep(5 * time.Millisecond)
									continue
								}
								used.Add(1)
								f.SettleLater(&limit.Charge{Held: v.Held, Team: team, Amounts: h.Amounts})
							}
						})
					}
				}
				meanwhile()
				working.Wait()
				for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(20 * time.Millisecond) {
					open := 0
					for _, f := range replicas {
						_ = f.Maintain(t.Context())
						open += f.queue.waiting() + f.unreported()
					}
					if open == 0 {
						break
					}
				}
				list, _, err := events.After(t.Context(), event.ID{Owner: "search"}, 100)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range list {
					_, rest, _ := strings.Cut(string(e.Data), `"threshold":`)
					percent, _, _ := strings.Cut(rest, ",")
					told[percent+" "+e.ID.String()] = 1
				}
			}
			turn := func() {
				for range 20 {
					for _, f := range replicas {
						_ = f.Maintain(t.Context())
					}
					time.Sleep(10 * time.Millisecond)
				}
			}
			turn()
			work(1000, func() {})
			if saved {
				if err := client.Save(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
			work(1200, func() {
				server.kill()
				server.start()
				turn()
			})
			names, err := client.HKeys(t.Context(), "sl1:{search}:"+outbox.FirstsEnd).Result()
			if err != nil || !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ":images:25") }) {
				t.Errorf("the restarted Redis remembers %v as told, %v", names, err)
			}
			work(2300, turn)
			all := map[string]int{}
			for name := range told {
				percent, _, _ := strings.Cut(name, " ")
				all[percent]++
			}
			if fmt.Sprint(all) != "map[25:1 50:1 75:1]" {
				t.Error(all)
			}
		})
	}
}
