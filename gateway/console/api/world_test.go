package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
	"sluice/telemetry/recent"
)

// canary is the SHA-256 of the file's key, which no answer shows.
const canary = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

const teamsFile = `
teams:
  - {id: ads, description: of the file, rates: {requests: {per: 1m, limit: 5}}, rules: {text.top_p: off}, keys: [{id: aaaaaaaaaaaa, sha256: ` + canary + `}]}
  - {id: search, self_service: true}
`

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// The people of the tests.
var (
	operator = access.Person{Name: "token", Role: access.Operator}
	viewer   = access.Person{Name: "oidc:vera", Role: access.Viewer}
	member   = access.Person{Name: "oidc:mia", Role: access.Member, Teams: []string{"maps", "search"}}
	noPerson = access.Person{}
)

// world is the interface over a real registry.
type world struct {
	*testing.T
	http.Handler
	store    *store.File
	accounts *limit.Memory
	traffic  *someTraffic
	secrets  []string // that no further answer may show
}

// someTraffic answers for the tasks and the requests.
type someTraffic struct {
	tasks     []figures.TaskFilter
	requests  []figures.RequestFilter
	err       error
	cancelled string
	cancel    error // of Cancel
}

func (s *someTraffic) TaskList(_ context.Context, _ access.Person, f figures.TaskFilter) (figures.TaskList, error) {
	s.tasks = append(s.tasks, f)
	return figures.TaskList{Tasks: []figures.TaskLine{
		{ID: "task-1", Model: "<b>", State: "RUNNING", Open: true, Submitted: noon},
		{ID: "task-2", State: "SUCCEEDED", Ended: noon, Cost: limit.Amounts{1, 0, 4, 800_000_000}},
	}, Next: "2"}, s.err
}

func (s *someTraffic) RequestList(_ context.Context, _ access.Person, f figures.RequestFilter) (figures.RequestList, error) {
	s.requests = append(s.requests, f)
	return figures.RequestList{Requests: []recent.Request{{Line: `{"id":"r1","status":200}`}}}, s.err
}

// longTask has every character of a task id, and is as long as one may be.
var longTask = "A.b_c~d-9" + strings.Repeat("t", 256-9)

func (s *someTraffic) Has(_ context.Context, team, task string) (bool, error) {
	return team == "maps" && (task == "task-1" || task == longTask), s.err
}

func (s *someTraffic) Cancel(_ context.Context, _, task string) error {
	s.cancelled = task
	return s.cancel
}

func newWorld(t *testing.T) *world {
	t.Helper()
	file, err := teams.Parse([]byte(teamsFile))
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return noon }
	kept := store.NewFile(filepath.Join(t.TempDir(), "directory.json"), clock)
	w := &world{T: t, store: kept, accounts: limit.NewMemory(clock), traffic: &someTraffic{}, secrets: []string{canary}}
	w.Handler = New(Deps{
		Registry: NewRegistry(RegistryDeps{
			Directory: kept, File: func() *teams.File { return file }, Accounts: w.accounts, Tasks: w.traffic, Now: clock, Random: rand.Reader,
		}),
		Ledger: w.accounts, Traffic: w.traffic, Currency: func() string { return "CNY" }, Now: clock, Log: slog.New(slog.DiscardHandler),
	})
	return w
}

// answer is what a request got.
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

// ask sends a request as a person, and holds the answer to the document: its status and its members. line is "GET /teams"; headers
// are "Name: value".
func (w *world) ask(who access.Person, line, body string, headers ...string) answer {
	w.Helper()
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequestWithContext(access.With(w.Context(), who), method, Prefix+path, strings.NewReader(body))
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
func (w *world) expect(who access.Person, line, body string, status int, problem string, headers ...string) answer {
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
func (w *world) mint(who access.Person, team, body string) teams.NewKey {
	w.Helper()
	a := w.expect(who, "POST /teams/"+team+"/keys", body, http.StatusCreated, "")
	var key teams.NewKey
	a.into(w.T, &key)
	s, err := w.store.Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	d, err := s.Open()
	if err != nil {
		w.Fatal(err)
	}
	made, _ := d.Team(team)
	w.secrets = append(w.secrets, key.Key)
	for _, k := range made.Keys {
		w.secrets = append(w.secrets, hex.EncodeToString(k.SHA256[:]))
	}
	return key
}
