package api_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/api"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

// canary is the SHA-256 of the file's key, which no answer shows.
const canary = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

const teamsFile = `
defaults: {key_days: 30}
teams:
  - {id: ads, description: of the file, keys: [{id: aaaaaaaaaaaa, sha256: ` + canary + `, note: old}]}
  - {id: search, self_service: true}
`

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// The people of the tests.
var (
	operator = access.Actor{Person: access.Person{Name: "token", Role: access.Operator}, Address: "192.0.2.1"}
	viewer   = access.Actor{Person: access.Person{Name: "oidc:vera", Role: access.Viewer}}
	member   = access.Actor{Person: access.Person{Name: "oidc:mia", Role: access.Member, Teams: []string{"maps", "search", "gone"}}}
	stranger = access.Actor{}
)

// world is a registry over real stores.
type world struct {
	*api.Registry
	*testing.T
	store    teams.Store
	accounts *limit.Memory
	tasks    *someTasks
	now      time.Time
}

// someTasks are tasks by team, and those that were cancelled.
type someTasks struct {
	mu        sync.Mutex
	of        map[string]string
	cancelled []string
	err       error
	cancel    error // of Cancel
}

func (s *someTasks) Has(_ context.Context, team, task string) (bool, error) {
	return s.of[task] == team, s.err
}

func (s *someTasks) Cancel(_ context.Context, _, task string) error {
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
	t.Run("file", func(t *testing.T) {
		test(newWorld(t, store.NewFile(filepath.Join(t.TempDir(), "directory.json"), time.Now)))
	})
	t.Run("Redis", func(t *testing.T) { test(newWorld(t, store.NewRedis(limittest.RealRedis(t)))) })
}

func newWorld(t *testing.T, kept teams.Store) *world {
	t.Helper()
	file, err := teams.Parse([]byte(teamsFile))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, store: kept, now: noon, tasks: &someTasks{of: map[string]string{"task-1": "maps", "task-2": "ads"}}}
	clock := func() time.Time { return w.now }
	w.accounts = limit.NewMemory(clock)
	w.Registry = api.NewRegistry(api.RegistryDeps{
		Directory: kept, File: func() *teams.File { return file }, Accounts: w.accounts, Tasks: w.tasks, Now: clock, Random: rand.Reader,
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

// entries are what was done, the newest first.
func (w *world) entries() (all []teams.Entry) {
	w.Helper()
	all, _, err := w.Audit(w.Context(), operator.Person, api.AuditFilter{Most: 1000}, 0)
	w.must(err)
	return all
}

// away is a directory that cannot be reached.
type away struct{ teams.Store }

func (away) Head(context.Context) (string, error) { return "", errors.New("secret: refused") }
