package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"sluice/cache"
	"sluice/cmd/sluice/settings"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

const generous = `quotas: {tokens: {day: 100000000}}`

// Redis is killed and comes back empty. Requests go on, the state shows it, and the known data is restored.
func TestRedisIsKilled(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	k := openReplica(t, server.url(), unhurried, generous)
	for range 20 {
		if !k.spend(10) {
			t.Fatal("refused without a failure")
		}
	}
	k.eventually(patience, "20 requests settled", func() bool { used, held := k.used(server, "tokens"); return used == 200 && held == 0 })
	k.prepared()
	server.kill()
	for range 50 {
		if !k.spend(10) {
			t.Fatal("refused without Redis, although much is left")
		}
	}
	if k.State() == nil || !k.Degraded() {
		t.Error("the log does not say that Redis is away")
	}
	k.eventually(patience, "told of", func() bool { return k.log.count("Redis is away") == 1 })
	server.start()
	k.eventually(patience, "back", k.well)
	k.eventually(patience, "every charge is posted", func() bool { used, held := k.used(server, "tokens"); return used == 700 && held == 0 })
	if away, back := k.log.count("Redis is away"), k.log.count("Redis is back"); away != 1 || back != 1 {
		t.Errorf("%d lines that it is away and %d that it is back:\n%s", away, back, k.log.text())
	}
}

// proxied puts a toxiproxy before a server.
func proxied(t *testing.T, server *redisServer) *toxiproxy.Proxy {
	t.Helper()
	manager := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(manager, "redis", fmt.Sprintf("127.0.0.1:%d", limittest.FreePort(t)), server.address())
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	return proxy
}

func toxic(t *testing.T, proxy *toxiproxy.Proxy, spec string) {
	t.Helper()
	if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(spec)); err != nil {
		t.Fatal(err)
	}
}

// A real Redis behind a network that fails and recovers at 1 Hz. The figure of a minute: LONG=1 go test -v -run
// FR4Q10 ./cmd/sluice.
func TestFlappingNetwork(t *testing.T) {
	long := 4 * time.Second
	if isLong() {
		long = time.Minute
	}
	server := startRedis(t)
	proxy := proxied(t, server)
	k := openReplica(t, "redis://"+proxy.Listen, nil, "rates: {requests: {per: 1s, limit: 200, burst: 400}}")
	k.eventually(patience, "connected", func() bool { return k.spend(0) })
	plain := limit.NewMemory(time.Now) // the same bucket under the same load, without outages
	begun := time.Now()
	var asked, admitted, plainly atomic.Int64
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if v, err := plain.Admit(t.Context(), &limit.Hold{ID: fmt.Sprint(asked.Add(1)), Team: k.team,
					Amounts: limit.Amounts{limit.Requests: 1}, Lease: time.Hour}); err == nil && v.Held != nil {
					plainly.Add(1)
				}
				if k.spend(0) {
					admitted.Add(1)
				} else {
					time.Sleep(time.Millisecond) // a refused client retries soon
				}
			}
		})
	}
	for up := true; time.Since(begun) < long; up = !up {
		time.Sleep(500 * time.Millisecond)
		if up {
			proxy.Stop()
			continue
		}
		k.eventually(patience, "away", k.Degraded)
		if err := proxy.Start(); err != nil {
			t.Fatal(err)
		}
	}
	_ = proxy.Start()
	k.eventually(patience, "what was spent without Redis is taken from its bucket", k.well)
	time.Sleep(time.Second) // so that the bucket has refilled what an outage had taken from it
	close(stop)
	asking.Wait()
	bound := 400 + 200*time.Since(begun).Seconds()
	t.Logf("%d admitted in %v, %.3f of the bound, %.3f of the number without an outage", admitted.Load(),
		time.Since(begun).Round(time.Millisecond), float64(admitted.Load())/bound, float64(admitted.Load())/float64(plainly.Load()))
	if got := float64(admitted.Load()); got > bound*1.02 || got < 0.6*float64(plainly.Load()) {
		t.Errorf("%.0f admitted, the bucket and the rate are %.0f, and without an outage %d pass", got, bound, plainly.Load())
	}
	k.eventually(patience, "every charge is posted", func() bool {
		used, held := k.used(server, "requests")
		return used == admitted.Load()+1 && held == 0
	})
}

// A Redis that answers every command with an error counts as away, whichever error it is.
func TestRedisAnswersWithErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script.",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"MISCONF Redis is configured to save RDB snapshots", "READONLY You can't write against a read only replica.",
		"ERR READONLY You can't write against a read only replica.", "ERR max number of clients reached", "CLUSTERDOWN The cluster is down",
		"MASTERDOWN Link with MASTER is down", "NOREPLICAS Not enough good replicas to write.", "WRONGPASS invalid username-password pair",
		"NOPERM no permissions",
	} {
		t.Run(strings.Fields(text)[0]+strings.Fields(text)[1], func(t *testing.T) {
			t.Parallel()
			k := openReplica(t, "redis://"+fakeRedis(t, text), nil, "rates: {requests: {per: 1m, limit: 60000}}")
			for range 50 {
				if _, err := k.admit(1); err != nil {
					t.Fatal(err)
				}
			}
			k.eventually(patience, "told of", func() bool { return k.log.count("Redis is away") == 1 })
			if k.Degraded() != true || k.log.count("Redis is back") > 0 {
				t.Errorf("counts as working:\n%s", k.log.text())
			}
		})
	}
}

// fakeRedis answers every command with one error.
func fakeRedis(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				buffer := make([]byte, 64<<10)
				for {
					n, err := conn.Read(buffer)
					if err != nil {
						return
					}
					for range strings.Count("\r\n"+string(buffer[:n]), "\r\n*") { // one reply for each command that begins in it
						_, _ = io.WriteString(conn, "-"+text+"\r\n")
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// A real Redis whose memory is full admits nothing by mistake and charges nothing twice.
func TestAFullRedisAdmitsNothingByMistake(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	k := openReplica(t, server.url(), nil, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) })
	k.prepared()
	server.do("CONFIG", "SET", "maxmemory", "1")
	for range 100 {
		if !k.spend(10) {
			t.Fatal("refused")
		}
	}
	k.eventually(patience, "told of", func() bool { return k.Degraded() })
	server.do("CONFIG", "SET", "maxmemory", "0")
	k.eventually(patience, "back", k.well)
	k.eventually(patience, "charged once", func() bool { used, held := k.used(server, "tokens"); return used == 1010 && held == 0 })
}

// A Redis that may evict limits is refused at the start, with a clear message.
func TestARedisThatEvictsIsRefused(t *testing.T) {
	server := startRedis(t, "--maxmemory-policy", "volatile-lru")
	got := command(t.Context(), with("SLUICE_TEAMS_FILE="+write(t, someTeams), "SLUICE_REDIS_URL="+server.url(), "SLUICE_LISTEN=127.0.0.1:0",
		"SLUICE_ADMIN_LISTEN=127.0.0.1:0"), "serve")
	if got.code != exitFaulty || !strings.Contains(got.text(), "SLUICE_REDIS_URL: the eviction policy of Redis is volatile-lru") ||
		!strings.Contains(got.text(), "noeviction") {
		t.Errorf("exit %d:\n%s", got.code, got.text())
	}
}

// A connection is out of step, and each reply on it belongs to the command before. No such reply is used.
func TestRepliesOfOtherCallsAreNoticed(t *testing.T) {
	server := startRedis(t)
	shifter := newShifter(t, server.address())
	k := openReplica(t, "redis://"+shifter.address, nil, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) })
	admitted := 1
	for n := range 200 {
		if n%50 == 25 {
			shifter.shift.Store(true)
		}
		if k.spend(10) {
			admitted++
		}
	}
	if k.log.count("belongs to another command") == 0 {
		t.Errorf("nothing was logged:\n%s", k.log.text())
	}
	k.eventually(patience, "back", k.well)
	k.eventually(patience, fmt.Sprintf("%d charges", admitted), func() bool {
		used, held := k.used(server, "tokens")
		return used == int64(admitted)*10 && held == 0
	})
}

// shifter is a proxy that on command repeats an earlier reply, so that all later replies are one behind.
type shifter struct {
	address string
	shift   atomic.Bool
}

func newShifter(t *testing.T, to string) *shifter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &shifter{address: listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() {
				defer func() { _ = client.Close() }()
				buffer, last := make([]byte, 64<<10), []byte(nil)
				for {
					n, err := server.Read(buffer)
					if err != nil {
						return
					}
					if len(last) > 50 && s.shift.CompareAndSwap(true, false) {
						_, _ = client.Write(last)
					}
					last = append(last[:0], buffer[:n]...)
					_, _ = client.Write(buffer[:n])
				}
			}()
		}
	}()
	return s
}

// The password changes, and so does the file with the address. No restart is needed.
func TestANewPasswordNeedsNoRestart(t *testing.T) {
	server := startRedis(t)
	server.do("ACL", "SETUSER", "sluice", "on", ">old", "~sl1:*", "+@all")
	path := write(t, "redis://sluice:old@"+server.address()+"\n")
	k := openReplica(t, "redis://sluice:old@"+server.address(), func(s *settings.Settings) { s.RedisURLFile = path }, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) })
	server.do("ACL", "SETUSER", "sluice", "resetpass", ">new")
	server.do("CLIENT", "KILL", "USER", "sluice")
	k.eventually(patience, "away", func() bool { k.spend(10); return k.Degraded() })
	rewrite(t, path, "redis://sluice:new@"+server.address()+"\n")
	took := k.eventually(patience, "back", k.well)
	if t.Logf("back after %v", took); isLong() && took > time.Second*slack {
		t.Errorf("back after %v", took)
	}
}

// Redis refuses connections. It counts as away, and the log lines about it are bounded.
func TestARedisWithoutFreeClientsIsAway(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	k := openReplica(t, server.url(), nil, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) })
	server.do("CONFIG", "SET", "maxclients", "1")
	begun := time.Now()
	server.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	k.eventually(patience, "away", func() bool { k.spend(10); return k.Degraded() })
	k.loaded(during(2 * time.Second))
	if info := server.do("INFO", "stats").(string); strings.Contains(info, "rejected_connections:0\r") {
		t.Error("Redis took every connection")
	}
	if k.well() {
		t.Error("away, and counts as working")
	}
	lines := k.log.count("\n")
	if most := int(time.Since(begun).Seconds()) + 2; lines > most {
		t.Errorf("%d lines in %v:\n%s", lines, time.Since(begun), k.log.text())
	}
	server.do("CONFIG", "SET", "maxclients", "1000")
	k.eventually(patience, "back", k.well)
}

// The library's log lines about connections that it cannot make are bounded, too. The library has one log for all
// clients, that of the last one opened, so no other test may open one meanwhile.
func TestTheLibrarysLogIsBounded(t *testing.T) {
	server := startRedis(t)
	k := openReplica(t, server.url(), nil, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) })
	begun := time.Now()
	server.kill()
	k.eventually(patience, "the library says so", func() bool { k.spend(10); return k.log.count("library=") > 0 })
	k.loaded(during(time.Second))
	if lines, most := k.log.count("library="), int(time.Since(begun).Seconds())+2; lines > most {
		t.Errorf("%d lines in %v:\n%s", lines, time.Since(begun), k.log.text())
	}
}

// With ON_STATE_LOSS=refuse nothing is admitted while Redis is away, and no hold remains.
func TestRefuseWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	k := openReplica(t, server.url(), func(s *settings.Settings) { s.OnStateLoss = settings.StateRefuse }, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) })
	server.signal(syscall.SIGSTOP)
	var asking sync.WaitGroup
	for range 10 { // each waits the full time for Redis
		asking.Go(func() {
			for range 10 {
				if v, err := k.admit(10); err == nil || v.Held != nil {
					t.Errorf("admitted: %+v", v)
				}
			}
		})
	}
	asking.Wait()
	server.signal(syscall.SIGCONT)
	k.eventually(patience, "back", func() bool { return k.well() && k.spend(10) })
	k.eventually(patience, "nothing is held", func() bool { used, held := k.used(server, "tokens"); return used == 20 && held == 0 })
}

// The commands of the ACL in docs/operating.md are enough.
func TestACLOfTheDocs(t *testing.T) {
	server := startRedis(t)
	rule := aclOf(t)
	args := []any{"ACL", "SETUSER", "sluice"}
	for _, word := range strings.Fields(rule) {
		args = append(args, word)
	}
	server.do(append(args, "on", ">secret")...)
	k := openReplica(t, "redis://sluice:secret@"+server.address(), nil, generous, "open_tasks: 5")
	k.eventually(patience, "connected", func() bool { return k.spend(10) })
	if known, err := k.redis.RequireNoEviction(t.Context()); !known || err != nil || k.log.count("appends to no file") != 1 {
		t.Errorf("how Redis keeps its data could not be read: %v\n%s", err, k.log.text())
	}
	v, err := k.admit(10)
	if err != nil {
		t.Fatal(err)
	}
	_ = k.Extend(t.Context(), v.Held, time.Hour)
	if _, err := k.Look(t.Context(), k.team); err != nil {
		t.Error(err)
	}
	if _, err := k.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261121}}); err != nil {
		t.Error(err)
	}
	useTasks(t, cache.NewRedis(cache.RedisConfig{Client: k.redis, Timeout: patience, TTL: time.Hour, Rate: 20, Now: time.Now}))
	k.eventually(patience, "the team is listed", func() bool { return server.do("SISMEMBER", "sl1:teams", "search") == int64(1) })
	for _, args := range [][]string{{"usage"}, {"adjust", "--team", "search", "--unit", "tokens", "--delta=5", "--reason", "a test"}} {
		if got := command(t.Context(), []string{"SLUICE_REDIS_URL=redis://sluice:secret@" + server.address()}, args...); got.code != exitClean {
			t.Errorf("%s: %+v", args, got)
		}
	}
	server.do("FLUSHALL")
	k.eventually(patience, "what was used is put back", func() bool {
		used, _ := k.used(server, "tokens")
		return used == 10 || used == 15 // including the correction, if the replica knows it
	})
	k.eventually(patience, "well", k.well)
	log := fmt.Sprint(server.do("ACL", "LOG"))
	if strings.Contains(log, "reason") {
		t.Errorf("Redis refused something: %s", log)
	}
}

// TestACLHasEveryCommand: the scripts, which Redis lets do what their user may, and the client's methods call only what the docs list.
func TestACLHasEveryCommand(t *testing.T) {
	listed, found := strings.Fields(aclOf(t)), 0
	called := regexp.MustCompile(
		`redis\.p?call\('([A-Z]+)'|\.(Exists|Expire|Get|GetDel|GetEx|HDel|HGet|HGetAll|HKeys|HLen|HMGet|HScan|HSet|MGet|SAdd|SMembers|XAdd|XRange|ZCard|ZRange|ZRem)\(ctx`)
	must(t, filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".lua" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range called.FindAllStringSubmatch(string(text), -1) {
			found++
			if command := strings.ToLower(match[1] + match[2]); !slices.Contains(listed, "+"+command) {
				t.Errorf("%s calls %s, which docs/operating.md does not let it", path, command)
			}
		}
		return err
	}))
	if found < 100 {
		t.Errorf("%d calls were found", found)
	}
}

// useTasks does a gateway's work with tasks.
func useTasks(t *testing.T, tasks *cache.Redis) {
	ctx, name := t.Context(), cache.IdempotencyName{Team: "search", Digest: "d"}
	tasks.Put(ctx, cache.Claim{Team: "search", Task: "t", Answer: cache.Answer{Task: "t", Status: cache.Pending}})
	claim, ok, err := tasks.Get(ctx, "search", "t")
	_, errTake := tasks.Take(ctx, "search", "t")
	tasks.Release(ctx, "search", "t", time.Second)
	_, errHear := tasks.Hear(ctx, &claim, cache.Answer{Task: "t", Status: cache.Running}, nil, 1)
	_, errList := tasks.List(ctx, []string{"search"}, cache.Filter{})
	_, errDue := tasks.Due(ctx, 10, nil)
	_, errAllow := tasks.Allow(ctx, cache.Wish{Team: "search"})
	_, _, errBegin := tasks.Begin(ctx, name, [32]byte{}, "one")
	_, _, errAgain := tasks.Begin(ctx, name, [32]byte{}, "one")
	tasks.End(ctx, name, [32]byte{}, cache.Outcome{})
	equal, begun, _, errNew := tasks.Join(ctx, name, [32]byte{}, cache.Attempt{Token: "two", Counts: true})
	tasks.End(ctx, equal, [32]byte{}, cache.Outcome{Token: begun.Token})
	_, _, _, errRepeat := tasks.Join(ctx, name, [32]byte{}, cache.Attempt{Token: "three", Number: 1, Counts: true})
	errs := errors.Join(err, errTake, errHear, errList, errDue, errAllow, errBegin, errAgain, errNew, errRepeat,
		tasks.Schedule(ctx, &claim, time.Now()), tasks.Forget(ctx, &claim))
	if !ok || errs != nil {
		t.Errorf("known %v; %v", ok, errs)
	}
}

// A settlement after the lease has ended corrects the charge and makes no second one. The test ends the lease.
func TestSettledAfterTheLease(t *testing.T) {
	server := startRedis(t)
	k := openReplica(t, server.url(), nil, generous)
	v, err := k.admit(100)
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	server.do("ZADD", "sl1:{search}:open", "1", v.Held.ID)
	k.eventually(patience, "swept by the next request", func() bool { k.spend(0); used, _ := k.used(server, "tokens"); return used == 100 })
	k.SettleLater(&limit.Charge{Held: v.Held, Team: k.team, Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: 30}})
	k.eventually(patience, "corrected", func() bool { used, held := k.used(server, "tokens"); return used == 30 && held == 0 })
}

// TestAnOutageSaysWhy: the state and the log of a process that starts without Redis name the last failure, and no allowance; they have no
// secret.
func TestAnOutageSaysWhy(t *testing.T) {
	t.Parallel()
	secret := startRedis(t, "--requirepass", "other")
	full := startRedis(t, "--maxmemory", "1")
	guarded := startRedis(t, "--sentinel", "sentinel monitor sluice 127.0.0.1 1 2", "requirepass sesame")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	certificate := httptest.NewTLSServer(nil)
	t.Cleanup(certificate.Close)
	for url, why := range map[string]string{
		"redis://127.0.0.1:1":                     "connection refused",
		"redis://user:CANARY@" + secret.address(): "WRONGPASS",
		full.url():                                                                       "OOM command not allowed",
		"redis://" + silent.Addr().String():                                              "i/o timeout",
		"rediss://" + silent.Addr().String():                                             "no TLS handshake within ",
		"rediss://" + certificate.Listener.Addr().String():                               "x509: ",
		"redis+cluster://" + secret.address():                                            "NOAUTH",
		"redis+sentinel://127.0.0.1:1/master":                                            "the sentinels: connect: connection refused",
		"redis+sentinel://" + guarded.address() + "/other?sentinel=:sesame":              "the sentinels: none that answers knows the master",
		"redis+sentinel://" + guarded.address() + "/sluice":                              "the sentinels: NOAUTH",
		"redis+sentinel://:CANARY@" + guarded.address() + "/sluice?sentinel=user:CANARY": "the sentinels: WRONGPASS",
		"redis://name-that-does-not-exist.invalid:6379":                                  "its name: ",
	} {
		t.Run(why+" "+url[:strings.Index(url, "://")], func(t *testing.T) {
			t.Parallel()
			change := unhurried // a late call of a busy machine is no other reason
			if strings.HasSuffix(url, silent.Addr().String()) {
				change = nil
			}
			k := openReplica(t, url, change, generous)
			k.eventually(patience, "away", func() bool { k.spend(1); return k.log.count("Redis is away") == 1 })
			state := k.State().Error()
			if !strings.HasPrefix(state, "Redis has been away for ") || !strings.Contains(state, why) ||
				!strings.Contains(state, "this process has no allowances") {
				t.Errorf("the state is %q, want %q in it", state, why)
			}
			if log := k.log.text(); !regexp.MustCompile(`level=ERROR msg="(a node of )?Redis is away"( node=\S+)? error="[^\n]*`+why).
				MatchString(log) || strings.Contains(log+state, "CANARY") {
				t.Errorf("the log does not say %q:\n%s", why, log)
			}
		})
	}
}
