package quotas_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/quotas"
	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/telemetry"
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

// log is what the replicas log, together.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

// alerts are the log's alerts: 50 images-day, in order.
func (l *log) alerts() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, line := range l.lines {
		var percent int
		if _, rest, ok := strings.Cut(line, "all teams together have taken "); ok {
			_, _ = fmt.Sscanf(rest, "%d", &percent)
			_, name, _ := strings.Cut(rest, "quota ")
			name, _, _ = strings.Cut(name, `"`)
			all = append(all, fmt.Sprint(percent, " ", name))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Three replicas report each per cent of the house's quotas once, not thrice, at the same time or after a restart, and again in the next
// period.
func TestAlertsAreReportedByOneReplica(t *testing.T) {
	client := limittest.RealRedis(t)
	if err := client.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	file, err := teams.Parse([]byte("house: {quotas: {images: {day: 10, month: 1000}}, alert: [50, 80]}\nteams: [{id: search}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	clock, written, events := limittest.NewClock(), &log{}, outbox.New(client, event.DefaultBounds)
	replica := func() (*failover.Failover, *quotas.Watch) {
		store := redisstore.New(client)
		store.Clock, store.Now = clock.Micros, clock.Now
		accounts := failover.New(failover.Config{Store: store, Timeout: time.Minute, Replicas: 3, Now: clock.Now})
		t.Cleanup(func() { _ = accounts.Close(context.Background()) })
		return accounts, quotas.New(quotas.Deps{
			Known: known,
			Teams: func() *teams.File { return file }, Balances: accounts, Outbox: events, Logger: slog.New(slog.NewTextHandler(written, nil)),
		})
	}
	var watches [3]*quotas.Watch
	var accounts *failover.Failover
	for i := range watches {
		accounts, watches[i] = replica()
	}
	used := 0
	use := func(images int64) {
		t.Helper()
		used++
		hold := &limit.Hold{ID: fmt.Sprint("hold-", used), Team: file.Team("search"), Outside: limit.OutsideFor(file, ""), Lease: time.Hour,
			Amounts: limit.Amounts{limit.Requests: 1, limit.Images: images}}
		v, err := accounts.Admit(t.Context(), hold)
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		if _, err := accounts.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: hold.Team, Amounts: hold.Amounts}); err != nil {
			t.Fatal(err)
		}
	}
	look := func(want string) {
		t.Helper()
		var looks sync.WaitGroup
		for _, w := range watches {
			looks.Go(func() {
				for range 11 { // the house's turn has come in one of them
					w.Round(t.Context())
				}
			})
		}
		looks.Wait()
		if got := written.alerts(); got != want {
			t.Errorf("reported %q, want %q", got, want)
		}
	}
	use(4)
	look("")
	use(1)
	look("50 images-day")
	use(4)
	look("50 images-day, 80 images-day")
	for i := range watches { // all start again
		accounts, watches[i] = replica()
	}
	look("50 images-day, 80 images-day")
	clock.Move(24 * time.Hour)
	use(6)
	look("50 images-day, 50 images-day, 80 images-day")
}

// What docs/money.md says of how full its house is, is said of it.
func TestTheHouseOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := regexp.MustCompile("(?s)```yaml\n(teams: \\[\\]\nhouse:.*?)```").FindSubmatch(page)
	file, err := teams.Parse(doc[1])
	if err != nil || fmt.Sprint(file.House.Alert) != "[50 80 95]" {
		t.Fatal(file, err)
	}
	accounts := limit.NewMemory(limittest.NewClock().Now)
	hold := &limit.Hold{ID: "h", Team: &teams.Team{ID: "search"}, Outside: limit.OutsideFor(file, ""), Lease: time.Hour,
		Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 14_000, limit.Spend: 1960 * teams.Nano}}
	if v, err := accounts.Admit(t.Context(), hold); err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	watch := quotas.New(quotas.Deps{Teams: func() *teams.File { return file }, Balances: accounts, Logger: slog.New(slog.DiscardHandler)})
	for range 11 {
		watch.Round(t.Context())
	}
	if line := "`house: " + watch.House() + "`"; !strings.Contains(string(page), line) {
		t.Errorf("docs/money.md lacks %s", line)
	}
}

// TestQuotasInShadowAreMarked: a metric of a quota that refuses nothing says so, so that no alert takes it for one that does.
func TestQuotasInShadowAreMarked(t *testing.T) {
	file, err := teams.Parse([]byte("defaults: {quotas: {images: {day: 10}}}\nteams: [{id: search}, {id: trial, shadow: true}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	tells, err := telemetry.Open(t.Context(), telemetry.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := quotas.New(quotas.Deps{
		Known: known, Teams: func() *teams.File { return file }, Balances: limit.NewMemory(time.Now), Metrics: tells.Metrics,
		Logger: slog.New(slog.DiscardHandler),
	})
	for range 10 {
		w.Round(t.Context())
	}
	page := httptest.NewRecorder()
	tells.Metrics.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`{period="day",team="search",unit="images"} 0`,
		`{period="day",shadow="true",team="trial",unit="images"} 0`} {
		if !strings.Contains(page.Body.String(), "\nsluice_quota_used_ratio"+want+"\n") {
			t.Errorf("%s is missing in\n%s", want, page.Body)
		}
	}
}
