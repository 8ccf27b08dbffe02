package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// accountsSoak is a money soak at three accounts that fail at random, for teams of which one waits, one does not, and one has a quota.
type accountsSoak struct {
	*moneySoak
	keys     string // directory of the accounts' key files
	requests atomic.Int64
	mu       sync.Mutex
	seen     map[string]int // statuses, and what was refused
	longest  time.Duration  // a wait
}

// Limits of the soak. The account's rate is the replicas' together; a request may arrive a little after it was admitted.
const (
	soakRateOfB, soakRateOfBatch, soakQuotaOfSmall, soakImagesOfC = 20, 4, 150, 40
	soakLate                                                      = 3 * time.Second
)

// soakAccounts are the ids of the accounts.
var soakAccounts = []string{"a", "b", "c"}

// soakKeys are the teams' keys. A team's requests name it.
var soakKeys = map[string]string{"search": "test", "batch": "key-of-batch", "small": "key-of-small"}

func newAccountsSoak(t *testing.T) *accountsSoak {
	t.Helper()
	digest := func(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key))) }
	accounts := map[string]simulator.Account{}
	for _, id := range soakAccounts {
		accounts[id] = simulator.Account{Keys: []string{"sk-of-" + id}, TaskRate: -1}
	}
	s := &accountsSoak{keys: t.TempDir(), seen: map[string]int{}}
	s.moneySoak = prepareSoak(t, simulator.Config{Accounts: accounts, KeepRequests: 1 << 20, KeepBody: 400}, soakTeam+
		fmt.Sprintf("  - id: batch\n    keys: [{id: bbbbbbbbbbbb, sha256: %s}]\n    queue: {wait: 10s, depth: 50}\n    share: 2\n    rates: "+
			"{requests: {per: 1s, limit: %d}}\n", digest(soakKeys["batch"]), soakRateOfBatch)+
		fmt.Sprintf("  - id: small\n    keys: [{id: cccccccccccc, sha256: %s}]\n    quotas: {requests: {day: %d}}\n", digest(soakKeys["small"]),
			soakQuotaOfSmall))
	s.teams = []string{"search", "batch", "small"}
	file := "accounts:\n  - {id: a, key_file: a, weight: 3}\n" +
		fmt.Sprintf("  - {id: b, key_file: b, weight: 2, query_rate: 500, rates: [{requests: {per: 1s, limit: %d}}]}\n", soakRateOfB) +
		fmt.Sprintf("  - {id: c, key_file: c, quotas: {images: {day: %d}}}\n", soakImagesOfC)
	for _, id := range soakAccounts {
		s.writeKey(id, "sk-of-"+id)
	}
	must(t, os.WriteFile(filepath.Join(s.keys, "accounts.yaml"), []byte(file), 0o600))
	s.environ = append(s.environ, "SLUICE_ACCOUNTS_FILE="+filepath.Join(s.keys, "accounts.yaml"), "SLUICE_HEADER_TIMEOUT=4s")
	s.start()
	return s
}

func (s *accountsSoak) writeKey(id, key string) {
	s.Helper()
	name := filepath.Join(s.keys, id)
	must(s.T, os.WriteFile(name+".new", []byte(key), 0o600))
	must(s.T, os.Rename(name+".new", name))
}

// illness is what is wrong with an account for a while.
var illness = []simulator.Fault{
	{}, {}, {},
	{Error: &simulator.FaultError{Code: "Throttling.RateQuota"}}, {Error: &simulator.FaultError{Code: "Throttling"}, RetryAfter: "2"},
	{Error: &simulator.FaultError{Code: "Arrearage"}, Times: 3}, {Stall: "before"}, {Cut: "close", After: 1}, {Drop: "reset"},
}

// suffer makes the accounts fail in turns until done is closed, and then well.
func (s *accountsSoak) suffer(done <-chan struct{}) {
	s.Helper()
	ill := map[string]simulator.Fault{}
	for n := 0; ; n++ {
		select {
		case <-done:
			s.service.SetFault()
			s.service.Release()
			return
		case <-time.After(time.Second + rand.N(2*time.Second)):
		}
		id := soakAccounts[rand.IntN(len(soakAccounts))]
		if rand.IntN(6) == 0 { // its key is refused until the operator writes the new one
			key := fmt.Sprint("sk-of-", id, "-", n)
			s.service.SetKeys(id, key)
			time.AfterFunc(500*time.Millisecond, func() { s.writeKey(id, key) })
			continue
		}
		fault := illness[rand.IntN(len(illness))]
		fault.Account, fault.On = id, simulator.EndpointModels
		ill[id] = fault
		var list []simulator.Fault
		for _, id := range soakAccounts {
			list = append(list, ill[id])
		}
		s.service.SetFault(list...)
		s.service.Release()
	}
}

// load sends requests of all kinds, each with another body, until done is closed.
func (s *accountsSoak) load(done <-chan struct{}) {
	all := soakRequests()
	var working sync.WaitGroup
	for worker := range 12 {
		team := []string{"search", "batch", "batch", "search", "batch", "small"}[worker%6]
		working.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(rand.N(60 * time.Millisecond)):
					s.request(team, all[rand.IntN(len(all))])
				}
			}
		})
	}
	working.Wait()
}

// firstText is where a body has the first words for the model.
var firstText = regexp.MustCompile(`"(text|content|prompt)":"`)

// request sends a request of a team, which may ask to wait, and checks how long it did.
func (s *accountsSoak) request(team string, q soakRequest) {
	s.Helper()
	at := firstText.FindStringIndex(q.body)
	q.body = fmt.Sprintf("%s%s-%06d %s", q.body[:at[1]], team, s.requests.Add(1), q.body[at[1]:])
	most, headers := time.Duration(0), []string(nil)
	if team == "batch" {
		most = 10 * time.Second
		if n := rand.IntN(9); n < 6 {
			most, headers = time.Duration(n)*time.Second, []string{"Prefer", fmt.Sprint("wait=", n)}
		}
	}
	begun := time.Now()
	answer, text := s.send(s.anyGate(), q, soakKeys[team], headers...)
	if answer == nil {
		return
	}
	waited, refused := time.Duration(0), answer.Header.Get("Sluice-Refusal")
	if _, after, told := strings.Cut(answer.Header.Get("Server-Timing"), ", queue;dur="); told {
		ms, _ := strconv.Atoi(after)
		waited = time.Duration(ms) * time.Millisecond
	} else if strings.HasPrefix(refused, "admit/") {
		waited = time.Since(begun)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[fmt.Sprint(answer.StatusCode, " ", refused)]++
	if s.longest = max(s.longest, waited); waited > most+soakLate {
		s.Errorf("%s waited %v, and asked for %v: %s %s", team, waited, most, answer.Status, text)
	}
	switch ours := refused != ""; {
	case answer.StatusCode == 200, answer.StatusCode == 429, answer.StatusCode >= 502 && answer.StatusCode <= 504 && ours:
	case answer.StatusCode == 400 && strings.Contains(string(text), "Arrearage"):
	default:
		s.Errorf("%s %s: %s %s", q.path, q.body, answer.Status, text)
	}
}

// settle waits until nothing is at work, and lets the leases end of all whose outcome is unknown.
func (s *accountsSoak) settle() {
	s.Helper()
	s.poll()
	var last int64
	steady := time.Now()
	wait(s.T, "the finisher is done", func() bool {
		requests, tasks := s.open()
		if requests+tasks != last {
			last, steady = requests+tasks, time.Now()
		}
		return time.Since(steady) > 5*time.Second
	})
	s.Logf("%d holds have an unknown outcome", last)
	for _, team := range append([]string{"@account-c"}, s.teams...) {
		s.server.do("EVAL", "for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 1, id) end", 1,
			"sl1:{"+team+"}:open")
	}
	wait(s.T, "all is settled", func() bool { requests, tasks := s.open(); return requests+tasks == 0 })
}

// executed are the moments at which the service did work of a kind.
func (s *accountsSoak) executed(is func(r *simulator.Received) bool) (at []time.Time) {
	for _, r := range s.service.Requests() {
		if r.Executed && is(&r) {
			at = append(at, r.At)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}

// keepsRate checks that in no time more was done than a rate of requests a second allows.
func (s *accountsSoak) keepsRate(of string, rate int, at []time.Time) {
	s.Helper()
	s.Logf("%s did %d requests", of, len(at))
	for i := range at {
		for j := i; j < len(at); j += 10 {
			if most := float64(rate) * (1 + (at[j].Sub(at[i]) + soakLate).Seconds()); float64(j-i+1) > most {
				s.Fatalf("%s did %d requests in %v, at most %.0f are allowed", of, j-i+1, at[j].Sub(at[i]), most)
			}
		}
	}
}

// kept checks what the service saw, and every limit.
func (s *accountsSoak) kept() {
	s.Helper()
	for _, line := range append(s.service.Twice(), s.service.Violations()...) {
		s.Error(line)
	}
	of := func(team string) func(*simulator.Received) bool {
		return func(r *simulator.Received) bool { return strings.Contains(string(r.Body), team+"-") }
	}
	s.keepsRate("account b", soakRateOfB, s.executed(func(r *simulator.Received) bool { return r.Account == "b" }))
	s.keepsRate("team batch", soakRateOfBatch, s.executed(of("batch")))
	if n := len(s.executed(of("small"))); n > soakQuotaOfSmall {
		s.Errorf("team small did %d requests, its quota is %d", n, soakQuotaOfSmall)
	}
	if n := s.service.Tally("c").Images; n > soakImagesOfC {
		s.Errorf("account c made %d images, its quota is %d", n, soakImagesOfC)
	}
}

// TestAccountsThatFailForLong: while accounts throttle, refuse keys, fall into arrears, hang and cut, for teams with and without a queue,
// and a replica is killed every 20 s, no POST is executed twice, no task is asked for at another account, no limit is passed, nothing waits
// longer than it asked, and the service's bill of each account is the ledger's, but for what is flagged as estimated.
func TestAccountsThatFailForLong(t *testing.T) {
	if !isLong() {
		t.Skip("LONG=1 takes ten minutes, or as long as SOAK says")
	}
	length := soakLength(t, 10*time.Minute)
	s := newAccountsSoak(t)
	done := make(chan struct{})
	ending := time.AfterFunc(length, func() { close(done) })
	defer ending.Stop()
	var running sync.WaitGroup
	running.Go(func() { s.load(done) })
	running.Go(func() { s.suffer(done) })
	for i := 0; ; i++ {
		select {
		case <-done:
		case <-time.After(min(20*time.Second, length/3)):
			s.replace(i % len(s.gates))
			continue
		}
		break
	}
	running.Wait()
	s.Logf("%v; the longest wait took %v", s.seen, s.longest)
	s.settle()
	s.kept()
	for _, id := range soakAccounts {
		r, _ := s.reconcile(id)
		s.onlyEstimates(&r)
	}
}
