package gateway_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// sequences are random stories of requests at accounts that fail in every way, each on a day of its own.
type sequences struct {
	*harness
	clock  *handClock
	random *rand.Rand
	day    time.Time

	n     int            // the sequence
	sent  int            // requests of it
	tasks []string       // that its clients know
	mu    sync.Mutex     // of seen and tasks
	seen  map[string]int // outcomes of all sequences
}

// TestNoRequestIsExecutedTwice plays 700 sequences, with LONG=1 ten thousand, with -short a fifth. In none is a POST executed twice, or a
// task asked for at an account that did not make it, and after each the service's bill of each account is the ledger's, to a nano of the
// currency. Where it cannot be known what the service did, the bill is not less than what is known, and not more than what was held
// besides.
func TestNoRequestIsExecutedTwice(t *testing.T) {
	all := 700
	switch {
	case os.Getenv("LONG") != "":
		all = 10_000
	case testing.Short():
		all = 140
	}
	s := newSequences(t)
	for s.n = range all {
		if s.play(); t.Failed() {
			t.Fatalf("sequence %d", s.n)
		}
	}
	t.Logf("%v", s.seen)
	for outcome, least := range map[string]int{
		"200": all, "429": all / 50, "502": all / 50, "503": all / 200, "cut": all / 50, "exact": all / 2, "doubtful": all / 10,
		"tasks": all / 5, "moved": all / 5,
	} {
		if s.seen[outcome] < least && !testing.Short() {
			t.Errorf("%s: %d, fewer than %d: the faults show nothing", outcome, s.seen[outcome], least)
		}
	}
}

func newSequences(t *testing.T) *sequences {
	s := &sequences{random: rand.New(rand.NewPCG(30, 1)), seen: map[string]int{}}
	list, err := os.ReadFile("../docs/demo/prices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, prices, _ := strings.Cut(string(list), "prices:\n")
	s.harness, s.clock = shared(t, []string{"id: a", "id: b", "id: c"}, func(p *plan) { p.teams, p.sim.KeepBody = "prices:\n"+prices, -1 })
	s.day = s.clock.now().UTC().Truncate(24 * time.Hour)
	s.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 8
	return s
}

// imagesOfC is the quota of account c, a day.
const imagesOfC = 4

// play is one sequence.
func (s *sequences) play() {
	s.day = s.day.AddDate(0, 0, 1)
	s.clock.move(s.day.Add(time.Hour).Sub(s.clock.now()))
	s.sim.Reset()
	s.sent, s.tasks = 0, nil
	s.rearrange()
	s.fail()
	together := s.random.IntN(2) == 0
	var asking sync.WaitGroup
	for range 2 + s.random.IntN(3) {
		ask := s.request()
		if together {
			asking.Go(ask)
			continue
		}
		ask()
		s.clock.move(time.Duration(s.random.IntN(20_000)) * time.Millisecond)
		s.followTask()
		if s.random.IntN(3) == 0 {
			s.fail()
		}
	}
	asking.Wait()
	if s.random.IntN(4) == 0 {
		s.rearrange()
	}
	s.end()
}

// rearrange writes another accounts file: weights, keys, an account that cannot be reached.
func (s *sequences) rearrange() {
	s.Helper()
	lines := []string{
		fmt.Sprintf("id: a, weight: %d", 1+s.random.IntN(3)),
		fmt.Sprintf("id: b, weight: %d, rates: [{requests: {per: 10s, limit: 1, burst: 2}}]", s.random.IntN(3)),
		fmt.Sprintf("id: c, weight: %d, quotas: {images: {day: %d}}", s.random.IntN(3), imagesOfC),
	}
	if s.random.IntN(5) == 0 {
		lines = append(lines, "id: d, weight: 2, url: "+nowhere)
	}
	file := accountsOf(s, lines...)
	if s.random.IntN(5) == 0 {
		id := []string{"a", "b", "c"}[s.random.IntN(3)]
		file.Keys[id] += "-rotated"
	}
	for id, key := range file.Keys {
		if id != "d" {
			s.sim.SetKeys(id, key.Reveal())
		}
	}
	s.gateway.SetUpstream(file)
}

// wrongs are what may be wrong with an account.
var wrongs = []simulator.Fault{
	{}, {}, {}, {}, throttled("", ""), throttled("", "3"), {Error: &simulator.FaultError{Status: 401, Plain: true}},
	{Error: &simulator.FaultError{Code: "Arrearage", Status: 400}},
	{Error: &simulator.FaultError{Status: 400}}, {Error: &simulator.FaultError{Status: 500}}, {Error: &simulator.FaultError{Status: 503}},
	{Error: &simulator.FaultError{Code: "Throttling"}, After: 1},
	{Drop: "close"}, {Drop: "reset"}, {Cut: "reset", After: 1}, {Cut: "close", After: 1}, {Cut: "close"},
	{Task: &simulator.FaultTask{Outcome: "fail"}}, {Task: &simulator.FaultTask{Outcome: "partial"}},
}

// fail draws what is wrong with each account from now on.
func (s *sequences) fail() {
	var list []simulator.Fault
	for _, id := range []string{"a", "b", "c"} {
		f := wrongs[s.random.IntN(len(wrongs))]
		f.Account, f.On, f.Times = id, simulator.EndpointModels, s.random.IntN(3)
		list = append(list, f)
	}
	s.sim.SetFault(list...)
}

// request draws a request, whose body no other has. The function sends it.
func (s *sequences) request() func() {
	path, body, headers := textPath, textBody, []string(nil)
	leaves := false
	switch s.random.IntN(8) {
	case 0, 1:
		headers = []string{"X-Service-SSE", "enable"}
	case 2:
		headers, leaves = []string{"X-Service-SSE", "enable"}, true
	case 3, 4:
		path, body, headers = imagePath, ofImages(1+s.random.IntN(2)), async
	case 5:
		path, body = multimodalPath, syncBody
	}
	body = strings.Replace(body, `"input"`, fmt.Sprintf(`"mark":"%d-%d","input"`, s.n, s.sent), 1)
	s.sent++
	return func() { s.count(s.outcome(s.harness.request("POST", path, body, headers...), leaves)) }
}

func (s *sequences) count(outcome string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[outcome]++
}

// outcome sends a request and says what became of it. A client that leaves does so inside of the answer.
func (s *sequences) outcome(r *http.Request, leaves bool) string {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	answer, err := s.client.Do(r.WithContext(ctx))
	if err != nil {
		return "cut"
	}
	defer func() { _ = answer.Body.Close() }()
	if leaves {
		_, _ = answer.Body.Read(make([]byte, 1))
		return "left"
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "cut"
	}
	if _, after, made := strings.Cut(string(text), `"task_id":"`); made {
		id, _, _ := strings.Cut(after, `"`)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tasks = append(s.tasks, id)
	}
	return itoa(answer.StatusCode)
}

// followTask polls or cancels a task of the sequence.
func (s *sequences) followTask() {
	s.Helper()
	if len(s.tasks) == 0 || s.random.IntN(2) == 0 {
		return
	}
	id := s.tasks[s.random.IntN(len(s.tasks))]
	s.sent++
	if s.random.IntN(3) == 0 {
		s.ask("POST", tasksPath+"/"+id+"/cancel", "")
		return
	}
	if got := s.poll(id); got.status != http.StatusOK || strings.Contains(got.body, "UNKNOWN") {
		s.Errorf("a task is not known: %d %s", got.status, got.body)
	}
}

// end lets all tasks end and all leases, and lays the service's bill beside the ledger.
func (s *sequences) end() {
	s.Helper()
	records := s.records.take(s, s.sent)
	s.sim.SetFault()
	for range 3 {
		s.clock.move(15 * time.Second)
		s.gateway.Finish(s.Context())
	}
	s.nothingTwice(records)
	s.clock.move(2 * time.Hour)
	if err := s.balances.Maintain(s.Context()); err != nil {
		s.Fatal(err)
	}
	if open, err := s.balances.Open(s.Context(), "search"); err != nil || open != 0 {
		s.Errorf("%d holds are open, %v", open, err)
	}
	s.billed(records)
}

// nothingTwice checks what the service saw.
func (s *sequences) nothingTwice(records []telemetry.Record) {
	s.Helper()
	for _, line := range s.sim.Twice() {
		s.Error(line)
	}
	made := map[string]string{} // task → account
	for i := range records {
		if r := &records[i]; r.Task != "" && r.Route == imagePath {
			made[r.Task] = r.Account
			s.seen["tasks"]++
		}
	}
	posts := 0
	for _, r := range s.sim.Requests() {
		_, id, ofTask := strings.Cut(r.Path, tasksPath+"/")
		id = strings.TrimSuffix(id, "/cancel")
		switch {
		case !ofTask:
			posts++
		case made[id] != r.Account:
			s.Errorf("account %s was asked for a task of %q", r.Account, made[id])
		}
	}
	s.seen["moved"] += max(0, posts-s.sent)
	for _, standing := range s.gateway.Standings() {
		if standing.InFlight != 0 {
			s.Errorf("%s has %d in flight at the end", standing.ID, standing.InFlight)
		}
	}
}

// billed compares the bill of each account with the ledger's rows of it.
func (s *sequences) billed(records []telemetry.Record) {
	s.Helper()
	date := s.day.Year()*10000 + int(s.day.Month())*100 + s.day.Day()
	rows, err := s.harness.balances.Rows(s.Context(), limit.Query{Days: []int{date}, By: limit.ScopeAccount})
	if err != nil {
		s.Fatal(err)
	}
	exact, estimated, doubt := map[string]limit.Amounts{}, map[string]limit.Amounts{}, map[string]limit.Amounts{}
	for i := range rows {
		row := &rows[i]
		exact[row.Account], estimated[row.Account] = row.Used.Minus(row.Estimated), row.Estimated
	}
	for i := range records {
		if r := &records[i]; r.Cost.Flag == telemetry.FlagEstimated || !r.Cost.Known && r.Task == "" {
			doubt[r.Account] = doubt[r.Account].Plus(r.Held.Amounts)
		}
	}
	for _, id := range []string{"a", "b", "c"} {
		bill := s.bill(id)
		known, most := exact[id], exact[id].Plus(doubt[id])
		for _, unit := range []int{limit.Tokens, limit.Images, limit.Spend} {
			if bill[unit] < known[unit] || bill[unit] > most[unit] || known[unit]+estimated[id][unit] > most[unit] {
				s.Errorf("the bill of %s is %v, the ledger has %v exactly and %v as estimated, of at most %v", id, bill, known, estimated[id],
					doubt[id])
				break
			}
		}
		switch {
		case doubt[id] != limit.Amounts{}:
			s.seen["doubtful"]++
		case bill != limit.Amounts{}:
			s.seen["exact"]++
		}
	}
	if n := exact["c"][limit.Images] + estimated["c"][limit.Images]; n > imagesOfC {
		s.Errorf("c has a quota of %d images, and is charged %d", imagesOfC, n)
	}
	for _, id := range slices.Sorted(maps.Keys(exact)) {
		if !strings.Contains("abc", id) && exact[id].Plus(estimated[id]).Plus(doubt[id]) != (limit.Amounts{}) {
			s.Errorf("%s did nothing, and is charged %v and %v", id, exact[id], estimated[id])
		}
	}
}

// bill is the service's bill of an account.
func (s *sequences) bill(id string) (sum limit.Amounts) {
	s.Helper()
	tally := s.sim.Tally(id)
	sum[limit.Tokens], sum[limit.Images] = tally.Tokens, tally.Images
	var text bytes.Buffer
	if err := s.sim.Bill(&text, id); err != nil {
		s.Fatal(err)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		s.Fatal(err)
	}
	money := new(big.Rat)
	for _, line := range lines[1:] {
		cost, ok := new(big.Rat).SetString(line[len(line)-1])
		if !ok {
			s.Fatalf("%q", line)
		}
		money.Add(money, cost)
	}
	money.Mul(money, big.NewRat(1_000_000_000, 1))
	sum[limit.Spend] = money.Num().Int64()
	return sum
}
