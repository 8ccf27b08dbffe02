package failover

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
)

// restarting is a Redis that can be killed and started again from its last dump.
type restarting struct {
	*testing.T
	dir, address string
	process      *exec.Cmd
}

func startRestarting(t *testing.T) *restarting {
	t.Helper()
	limittest.RealRedis(t) // skips without a redis-server
	r := &restarting{T: t, dir: t.TempDir(), address: fmt.Sprint("127.0.0.1:", limittest.FreePort(t))}
	r.start()
	t.Cleanup(r.kill)
	return r
}

func (r *restarting) start() {
	r.Helper()
	_, port, _ := net.SplitHostPort(r.address)
	r.process = exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", r.dir)
	if err := r.process.Start(); err != nil {
		r.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", r.address); err == nil {
			_ = conn.Close()
			return
		}
	}
	r.Fatal("redis-server does not start")
}

func (r *restarting) kill() {
	_ = r.process.Process.Signal(os.Kill)
	_ = r.process.Wait()
}

// replica opens accounts that learn of each connection, as the process's do.
func (r *restarting) replica() (*Failover, *redis.Client) {
	var f *Failover
	client := redis.NewClient(&redis.Options{
		Addr: r.address, Protocol: 2, MaxRetries: -1, DisableIdentity: true, ContextTimeoutEnabled: true,
		OnConnect: func(ctx context.Context, conn *redis.Conn) error {
			info, err := conn.Info(ctx, "server").Result()
			if err != nil {
				return err
			}
			_, run, _ := strings.Cut(info, "run_id:")
			run, _, _ = strings.Cut(run, "\r")
			return f.Connected(ctx, run)
		},
	})
	f = New(Config{Store: redisstore.New(client), Timeout: 30 * time.Second, Replicas: 2, Now: time.Now})
	r.Cleanup(func() { _ = f.Close(context.Background()); _ = client.Close() })
	return f, client
}

// TestNoChargeHidesWhatARestartLost: Redis restarts from a dump without the other replica's charges. This replica, which
// knows only the dump's data, charges several holds at once before anything else reaches the new process.
func TestNoChargeHidesWhatARestartLost(t *testing.T) {
	for _, charges := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("%d charges", charges), func(t *testing.T) {
			server := startRestarting(t)
			one, client := server.replica()
			two, _ := server.replica()
			team, picture := limittest.Team(t, "quotas: {images: {day: 1000}}"), limit.Amounts{limit.Requests: 1, limit.Images: 1}
			turn := func() {
				_, _ = one.Maintain(t.Context()), two.Maintain(t.Context())
			}
			admit := func(f *Failover, id string) *limit.Held {
				for begun := time.Now(); time.Since(begun) < time.Minute; turn() {
					if v, err := f.Admit(t.Context(), &limit.Hold{ID: id, Team: team, Amounts: picture, Lease: time.Hour}); err == nil && v.Held != nil {
						return v.Held
					}
				}
				t.Fatalf("%s is not admitted", id)
				return nil
			}
			turn()
			theirs, ours := admit(two, "theirs"), make([]*limit.Held, charges)
			for i := range ours {
				ours[i] = admit(one, fmt.Sprint("ours-", i))
			}
			if err := client.Save(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if done, err := two.Settle(t.Context(), &limit.Charge{Held: theirs, Team: team, Amounts: picture}); !done || err != nil {
				t.Fatal(done, err)
			}
			server.kill()
			server.start()
			var charging sync.WaitGroup
			for _, h := range ours {
				charging.Go(func() { _, _ = one.Settle(t.Context(), &limit.Charge{Held: h, Team: team, Amounts: picture}) })
			}
			charging.Wait()
			var used, held int64
			for begun := time.Now(); time.Since(begun) < time.Minute &&
				(held > 0 || one.queue.waiting() > 0 || used == 0); time.Sleep(50 * time.Millisecond) {
				turn()
				if st, err := redisstore.New(client).Look(t.Context(), team); err == nil {
					used, held = st.Used[2*limit.Images], st.Held[2*limit.Images]
				}
			}
			if want := int64(charges + 1); used != want || held != 0 {
				t.Errorf("%d images are used and %d held, want %d and none", used, held, want)
			}
		})
	}
}
