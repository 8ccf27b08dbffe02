package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// redisServer is a real redis-server for one test.
type redisServer struct {
	testing.TB
	port    int
	args    []string
	dir     string
	process *exec.Cmd
	admin   *redis.Client // without a guard, for the test itself
}

// startRedis starts a redis-server on a free port and waits until it serves.
func startRedis(t testing.TB, args ...string) *redisServer {
	t.Helper()
	s := &redisServer{TB: t, args: args, dir: t.TempDir()}
	for s.port = limittest.FreePort(t); !s.launch(); s.port = limittest.FreePort(t) { // another process may have taken the port meanwhile
		if t.Failed() {
			t.FailNow()
		}
	}
	s.admin = redis.NewClient(&redis.Options{Addr: s.address(), Protocol: 2, DisableIdentity: true, DialTimeout: patience,
		ReadTimeout: patience})
	t.Cleanup(func() { _ = s.admin.Close(); s.kill() })
	return s
}

func (s *redisServer) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }
func (s *redisServer) url() string     { return "redis://" + s.address() }

// start starts the server again, on its port.
func (s *redisServer) start() {
	s.Helper()
	for begun := time.Now(); !s.launch(); {
		if time.Since(begun) > patience {
			s.Fatal("redis-server did not start again")
		}
	}
}

// launch starts the process and reports whether it serves.
func (s *redisServer) launch() bool {
	s.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI_REQUIRES_REDIS") != "" {
			s.Fatal("redis-server is not installed, and CI requires it")
		}
		s.Skip("redis-server is not installed")
	}
	args := append([]string{"--port", fmt.Sprint(s.port), "--save", "", "--dir", s.dir, "--enable-debug-command", "yes"}, s.args...)
	if len(s.args) > 0 && s.args[0] == "--sentinel" {
		config := filepath.Join(s.dir, "sentinel.conf")
		if err := os.WriteFile(config, []byte(strings.Join(s.args[1:], "\n")+"\n"), 0o600); err != nil {
			s.Fatal(err)
		}
		args = []string{config, "--sentinel", "--port", fmt.Sprint(s.port), "--dir", s.dir}
	}
	s.process = exec.Command(path, args...)
	out, err := s.process.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		s.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready := false
	for !ready && lines.Scan() {
		ready = strings.Contains(lines.Text(), "Ready to accept connections") || strings.Contains(lines.Text(), "+monitor")
	}
	if !ready {
		s.Logf("redis-server %q did not start", args)
		_ = s.process.Wait()
		s.process = nil
		return false
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // it must not block on its log
	return true
}

func (s *redisServer) signal(signal os.Signal) {
	if err := s.process.Process.Signal(signal); err != nil {
		s.Error(err)
	}
}

func (s *redisServer) kill() {
	if s.process != nil {
		_ = s.process.Process.Signal(syscall.SIGCONT)
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

// do runs a command on the server, beside the client under test.
func (s *redisServer) do(args ...any) any {
	s.Helper()
	v, err := s.admin.Do(context.Background(), args...).Result()
	if err != nil && err != redis.Nil {
		s.Fatalf("%v: %v", args, err)
	}
	return v
}

// ledgerkeeper is one replica's accounts, opened as the process opens them, over an address of Redis.
type ledgerkeeper struct {
	*testing.T
	*failover.Failover
	redis   *redisclient.Client
	timeout time.Duration // of a call on a request's path
	team    *teams.Team
	log     *lineLog
	turns   atomic.Int64 // completed turns of the background work
	n       int
	mu      sync.Mutex
}

// unhurried is for tests in which Redis either answers or is absent: a busy machine makes none of their calls too slow.
func unhurried(s *settings.Settings) { s.RedisTimeout = patience }

// openReplica opens accounts and does their background work, as a process does; the work begins before the first request.
func openReplica(t *testing.T, url string, change func(s *settings.Settings), teamLines ...string) *ledgerkeeper {
	t.Helper()
	return openReplicaBy(t, time.Now, url, change, teamLines...)
}

// openReplicaBy is openReplica with another clock.
func openReplicaBy(t *testing.T, now func() time.Time, url string, change func(s *settings.Settings), teamLines ...string) *ledgerkeeper {
	t.Helper()
	s, _ := settings.Load(nil)
	s.RedisURL = upstream.Secret(url)
	if change != nil {
		change(&s)
	}
	k := &ledgerkeeper{T: t, team: parseTeam(t, "search", teamLines...), log: &lineLog{}}
	log := slog.New(slog.NewTextHandler(k.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	k.redis, k.timeout = openRedis(s, log, nil, 0, nil), s.RedisTimeout
	k.Failover = sharedBalances(k.redis, s, unit.Nanos, log, now)
	ctx, stop := context.WithCancel(context.Background())
	turn := func() { _ = k.Maintain(ctx); k.turns.Add(1) }
	turn()
	var working sync.WaitGroup
	working.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
				turn()
			}
		}
	})
	t.Cleanup(func() {
		stop()
		working.Wait()
		closing, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		_ = k.Close(closing)
		_ = k.redis.Close()
	})
	return k
}

func parseTeam(t *testing.T, id string, lines ...string) *teams.Team {
	t.Helper()
	doc := "teams:\n  - id: " + id + "\n"
	for _, line := range lines {
		doc += "    " + line + "\n"
	}
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return file.List[0]
}

// admit admits one request that holds tokens.
func (k *ledgerkeeper) admit(tokens int64) (limit.Verdict, error) {
	k.mu.Lock()
	k.n++
	id := fmt.Sprintf("%p-%d", k, k.n)
	k.mu.Unlock()
	return k.Admit(context.Background(), &limit.Hold{
		ID: id, Team: k.team, Model: "llm-max", Endpoint: policy.EndpointText,
		Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: tokens}, Lease: time.Minute,
	})
}

// spend admits and settles one request and reports whether it was admitted.
func (k *ledgerkeeper) spend(tokens int64) bool {
	v, err := k.admit(tokens)
	if err != nil || v.Held == nil {
		return false
	}
	k.SettleLater(&limit.Charge{Held: v.Held, Team: k.team, Amounts: v.Held.Amounts})
	return true
}

// eventually waits until something holds. It polls, because the conditions are about other processes.
func (k *ledgerkeeper) eventually(within time.Duration, what string, holds func() bool) time.Duration {
	k.Helper()
	begun := time.Now()
	for !holds() {
		if time.Since(begun) > within {
			k.Fatalf("not within %v: %s; state: %v\n%s", within, what, k.State(), k.log.text())
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(begun)
}

func (k *ledgerkeeper) well() bool { return k.State() == nil }

// prepared waits until teams with recent requests have an allowance here: Redis has set it aside, and this replica knows.
// It knows before the turn ends in which it sent the renewal.
func (k *ledgerkeeper) prepared(teams ...string) {
	k.Helper()
	aside := func(team string) int64 {
		n, _ := k.redis.HGet(context.Background(), "sl1:{"+team+"}:quota", time.Now().UTC().Format("20060102")+":tokens:aside").Int64()
		return n
	}
	for _, team := range append(teams, k.team.ID) {
		k.eventually(patience, "an allowance of "+team, func() bool { return aside(team) > 0 })
	}
	turns := k.turns.Load()
	k.eventually(patience, "the allowances are heard of", func() bool { return k.turns.Load() > turns })
}

// used reads from Redis how much of a unit the team has used and holds.
func (k *ledgerkeeper) used(server *redisServer, unit string) (used, held int64) {
	k.Helper()
	return usedIn(server.admin, k.team.ID, unit)
}

// usedIn reads how much of a unit a team has used and holds, on all days: a test may run over midnight.
func usedIn(client redis.UniversalClient, team, unit string) (used, held int64) {
	for field, value := range client.HGetAll(context.Background(), "sl1:{"+team+"}:quota").Val() {
		part := strings.Split(field, ":")
		if len(part) != 3 || len(part[0]) != len("20060102") || part[1] != unit {
			continue
		}
		switch n, _ := strconv.ParseInt(value, 10, 64); part[2] {
		case "used":
			used += n
		case "held":
			held += n
		}
	}
	return used, held
}

// lineLog keeps the log's lines.
type lineLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *lineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(p))
	return len(p), nil
}

func (l *lineLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}

func (l *lineLog) count(word string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, word) {
			n++
		}
	}
	return n
}

// slack is the time that the race detector and other tests may add to a bound, which LONG=1 checks exactly.
const slack = 4

// isLong reports whether to check the figures of docs/performance.md, on an otherwise idle machine. Other runs assert no times:
// they compare times of the same run.
func isLong() bool { return os.Getenv("LONG") != "" }

func rewrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// aclOf is the line in docs/operating.md with the commands that Redis has to allow.
func aclOf(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "ACL SETUSER sluice ")
	if !ok {
		t.Fatal("docs/operating.md has no ACL")
	}
	rule, _, _ := strings.Cut(rest, "\n")
	return rule
}
