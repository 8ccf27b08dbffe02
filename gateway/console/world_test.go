package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
	"sluice/policy/unit"
	"sluice/telemetry/recent"
)

// canary is the SHA-256 of the file's key, which no answer shows.
const canary = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

const teamsFile = `
defaults: {key_days: 30}
teams:
  - {id: ads, description: of the file, rates: {requests: {per: 1m, limit: 5}}, rules: {text.top_p: off},
     keys: [{id: aaaaaaaaaaaa, sha256: ` + canary + `, note: old}]}
  - {id: search, self_service: true, quotas: {images: {day: 500, month: 9000}, spend: {day: 2.5}}}
`

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// The people of the tests.
var (
	operator = access.Actor{Person: access.Person{Name: "token", Role: access.Operator}, Address: "192.0.2.1"}
	viewer   = access.Actor{Person: access.Person{Name: "oidc:vera", Role: access.Viewer}}
	member   = access.Actor{Person: access.Person{Name: "oidc:mia", Role: access.Member, Teams: []string{"maps", "search", "gone"}}}
	stranger = access.Actor{}
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

// world is the registry over a real store, and the interface over the registry.
type world struct {
	*testing.T
	http.Handler
	*Registry
	store    teams.Store
	balances *limit.Memory
	traffic  *someTraffic
	now      time.Time
	secrets  []string // that no further answer may show
}

// someTraffic has tasks by team, and answers for the tasks and the requests.
type someTraffic struct {
	of        map[string]string
	tasks     []figures.TaskFilter // that were asked for
	requests  []recent.Filter
	refused   []figures.RefusedQuery
	latency   []figures.LatencyQuery
	accounts  figures.AccountList
	mu        sync.Mutex
	cancelled []string
	err       error
	cancel    error // of Cancel
}

func (s *someTraffic) TaskList(_ context.Context, _ access.Person, f figures.TaskFilter) (figures.TaskList, error) {
	s.tasks = append(s.tasks, f)
	return figures.TaskList{Tasks: []figures.TaskLine{
		{ID: "task-1", Model: "<b>", State: "RUNNING", Open: true, Submitted: noon},
		{ID: "task-2", State: "SUCCEEDED", Ended: noon, Cost: limit.Amounts{1, 0, 4, 800_000_000}},
	}, Next: "2"}, s.err
}

func (s *someTraffic) RequestList(_ context.Context, _ access.Person, f recent.Filter) (recent.Page, error) {
	s.requests = append(s.requests, f)
	return recent.Page{Requests: []recent.Request{{Line: `{"id":"r1","status":200}`}}}, s.err
}

// Request has one request that was refused, of the team ads.
func (s *someTraffic) Request(_ context.Context, p access.Person, id string) (recent.Request, error) {
	if id != "r1" || !p.Sees("ads") {
		return recent.Request{}, cmp.Or(s.err, figures.ErrAbsent)
	}
	return recent.Request{Status: 429, Refusal: "admit/quota", Reason: "Team ads has 1 left.", Line: `{"id":"r1","status":429}`}, s.err
}

func (s *someTraffic) Search(_ context.Context, p access.Person, text string) ([]figures.Found, error) {
	if text != "r1" || !p.Sees("ads") {
		return nil, s.err
	}
	return []figures.Found{{Kind: "request", ID: "r1", Title: "of team ads", Path: "/requests/r1"}}, s.err
}

func (s *someTraffic) Latency(_ context.Context, _ access.Person, q figures.LatencyQuery) ([]figures.LatencyRow, error) {
	s.latency = append(s.latency, q)
	return []figures.LatencyRow{{Of: "llm-max", What: recent.Service, Start: noon, Count: 7, P50: 812_300 * time.Microsecond,
		P95: 2 * time.Second, P99: 3 * time.Second}}, s.err
}

func (s *someTraffic) FaultList(_ context.Context, p access.Person) []figures.Fault {
	if !p.SeesAll() {
		return nil
	}
	since := noon
	return []figures.Fault{{Kind: "service", Text: "25 of the last 25 requests failed", Since: &since, Count: 25, Of: 25},
		{Kind: "process", Subject: "redis", Text: "away"}}
}

func (s *someTraffic) NearList(_ context.Context, _ access.Person, percent int) ([]figures.TeamLine, error) {
	near := &figures.Near{Name: "spend-day", Standing: limit.Standing{Unit: unit.NameSpend, Period: teams.PeriodDay, Limit: 5_000_000_000,
		Used: 4_500_000_000}, Percent: 90}
	if percent > near.Percent {
		return nil, s.err
	}
	return []figures.TeamLine{{ID: "ads", TeamUse: figures.TeamUse{Nearest: near}}}, s.err
}

func (s *someTraffic) Refused(_ context.Context, _ access.Person, q figures.RefusedQuery) (figures.Refused, error) {
	s.refused = append(s.refused, q)
	return figures.Refused{From: q.From, Step: time.Minute, Kept: 2, All: 7,
		Groups: []figures.RefusedGroup{{Name: "admit/rate", Count: 2, Last: noon, Steps: []int64{0, 2}}}}, s.err
}

func (s *someTraffic) Deliveries(ctx context.Context, p access.Person, q event.Query) (event.Report, error) {
	if s.err != nil || q.Owner != "" && !p.Sees(q.Owner) {
		return event.Report{}, cmp.Or(s.err, figures.ErrAbsent)
	}
	box, jobs := event.NewMemory(event.DefaultBounds, func() time.Time { return noon }), event.Address{Owner: "ads", Hook: "jobs"}
	_, _ = box.Append(ctx, &event.Draft{Type: event.TaskFailed, Team: "ads", Data: []byte(`{"canary":1}`),
		To: []event.Target{{Address: jobs}}})
	return event.Look(ctx, box, []event.Address{jobs}, q)
}

func (s *someTraffic) AccountList(context.Context, access.Person) (figures.AccountList, error) {
	return s.accounts, s.err
}

// longTask has every character of a task id, and the maximum length.
var longTask = "A.b_c~d-9" + strings.Repeat("t", 256-9)

func (s *someTraffic) Has(_ context.Context, team, task string) (bool, error) {
	return s.of[task] == team, s.err
}

func (s *someTraffic) Cancel(_ context.Context, _, task string) error {
	if s.cancel != nil {
		return s.cancel
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled = append(s.cancelled, task)
	return nil
}

// worlds runs a test over both forms of the directory.
func worlds(t *testing.T, test func(w *world)) {
	t.Run("file", func(t *testing.T) { test(newWorld(t)) })
	t.Run("Redis", func(t *testing.T) { test(worldOver(t, store.NewRedis(limittest.RealRedis(t)))) })
}

// newWorld has its directory in a file.
func newWorld(t *testing.T) *world {
	t.Helper()
	return worldOver(t, store.NewFile(filepath.Join(t.TempDir(), "directory.json"), func() time.Time { return noon }))
}

func worldOver(t *testing.T, kept teams.Store) *world {
	t.Helper()
	file, err := teams.Parse([]byte(teamsFile))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, store: kept, now: noon, secrets: []string{canary}}
	w.traffic = &someTraffic{of: map[string]string{"task-1": "maps", longTask: "maps", "task-2": "ads"}}
	clock := func() time.Time { return w.now }
	w.balances = limit.NewMemory(clock)
	w.Registry = NewRegistry(RegistryDeps{
		Directory: kept, File: func() *teams.File { return file }, Balances: w.balances, Tasks: w.traffic, Now: clock, Random: rand.Reader,
	})
	w.Handler = NewAPI(APIDeps{
		Registry: w.Registry, Ledger: w.balances, Traffic: w.traffic, Currency: func() unit.Currency { return unit.Currency{Word: "CNY"} },
		Now: clock, Log: slog.New(slog.DiscardHandler),
	})
	return w
}

// draft is a team as a person wants it; members are JSON.
func draft(id, members string) teams.Spec {
	d := teams.Spec{ID: id, Members: map[string]json.RawMessage{}}
	if err := json.Unmarshal([]byte("{"+members+"}"), &d.Members); err != nil {
		panic(err)
	}
	return d
}

// create makes a team of the directory.
func (w *world) create(id, members string) teams.Spec {
	w.Helper()
	team, err := w.Create(w.Context(), operator, draft(id, members))
	if err != nil {
		w.Fatal(err)
	}
	return team
}

// refused expects an error of a kind in a field.
func (w *world) refused(err error, kind teams.Code, field string) {
	w.Helper()
	var e *teams.Problem
	if !errors.As(err, &e) || e.Code != kind || e.Field != field {
		w.Errorf("got %v, want a problem %s in %q", err, kind, field)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// entries returns the audit's entries, the newest first.
func (w *world) entries() (all []teams.Entry) {
	w.Helper()
	all, _, err := w.Audit(w.Context(), operator.Person, AuditFilter{Most: 1000}, 0)
	w.must(err)
	return all
}

// away is a directory that cannot be reached.
type away struct{ teams.Store }

func (away) Head(context.Context) (string, error) { return "", errors.New("secret: refused") }

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   string
}

// into reads the body.
func (a answer) into(t *testing.T, value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), value); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
}

// ask sends a request as a person, and checks the answer against the document: its status and its members. line is "GET /teams";
// headers are "Name: value".
func (w *world) ask(who access.Actor, line, body string, headers ...string) answer {
	w.Helper()
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequestWithContext(access.With(w.Context(), who.Person), method, Prefix+path, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.1:4711"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, r)
	a := answer{recorder.Code, recorder.Header(), recorder.Body.String()}
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		w.Errorf("%s: headers %v", line, a.header)
	}
	if i := slices.IndexFunc(w.secrets, func(secret string) bool { return strings.Contains(a.body, secret) }); i >= 0 {
		w.Errorf("%s shows secret %d: %s", line, i, a.body)
	}
	holdToDocument(w.T, method, r.URL.EscapedPath(), a)
	return a
}

// expect asks and checks status and, of a problem, code and field.
func (w *world) expect(who access.Actor, line, body string, status int, problem string, headers ...string) answer {
	w.Helper()
	a := w.ask(who, line, body, headers...)
	var p Document
	if a.status >= 400 {
		a.into(w.T, &p)
	}
	if got := strings.TrimSpace(string(p.Code) + " " + p.Field); a.status != status || got != problem {
		w.Errorf("%s as %q: %d %s, want %d %s\n%s", line, who.Name, a.status, got, status, problem, a.body)
	}
	return a
}

// mint makes a key, whose secrets no later answer may show.
func (w *world) mint(who access.Actor, team, body string) teams.NewKey {
	w.Helper()
	a := w.expect(who, "POST /teams/"+team+"/keys", body, http.StatusCreated, "")
	var key teams.NewKey
	a.into(w.T, &key)
	made, err := w.Show(w.Context(), operator.Person, team)
	w.must(err)
	w.secrets = append(w.secrets, key.Key)
	for _, k := range made.Keys {
		w.secrets = append(w.secrets, hex.EncodeToString(k.SHA256[:]))
	}
	return key
}
