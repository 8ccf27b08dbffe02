package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

// late accounts delay settlements until they are well again, as those in Redis do.
type late struct {
	*limit.Memory
	mu   sync.Mutex
	ill  bool
	kept []*limit.Charge
}

func (l *late) Settle(ctx context.Context, c *limit.Charge) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ill {
		l.kept = append(l.kept, c)
		return false, errors.New("timeout; kept")
	}
	return l.Memory.Settle(ctx, c)
}

func (l *late) SettleLater(c *limit.Charge) { _, _ = l.Settle(context.Background(), c) }

func (l *late) fall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ill = true
}

func (l *late) recover() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ill = false
	for _, c := range l.kept {
		_, _ = l.Memory.Settle(context.Background(), c)
	}
	l.kept = nil
}

// lately is a harness whose accounts can be late, and its claims.
func lately(t testing.TB, changes ...func(*plan)) (*harness, *handClock, *late, *cache.Claims) {
	balances, claims := &late{}, (*cache.Claims)(nil)
	h, clock := tasked(t, append(changes, func(p *plan) {
		balances.Memory = limit.NewMemory(p.now)
		claims = cache.NewClaims(p.config.TaskTTL, p.now)
		p.balances, p.claims = balances, claims
	})...)
	return h, clock, balances, claims
}

// settlements are the metrics' counts of them: "exact 1, succeeded 2".
func (h *harness) settlements() string {
	page := httptest.NewRecorder()
	h.tells.Metrics.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/", nil))
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^sluice_settlements_total\{.*outcome="([^"]+)".*\} (\d+)`).
		FindAllStringSubmatch(page.Body.String(), -1) {
		list = append(list, m[1]+" "+m[2])
	}
	return strings.Join(list, ", ")
}

// An end whose charge the state does not take is shown only to the client: the task stays due, is not queried again here, and
// counts as ended once it is charged; it is counted then, once.
func TestAnEndIsKeptOnceItIsCharged(t *testing.T) {
	h, clock, balances, claims := lately(t, limited("quotas: {images: {day: 100}}"))
	id := h.create(t)
	clock.move(time.Minute)
	balances.fall()
	for range 3 {
		if got := h.poll(id); got.member(t, "output", "task_status") != "SUCCEEDED" {
			t.Errorf("%d %s", got.status, got.body)
		}
		clock.move(7 * time.Second)
		h.gateway.Finish(t.Context())
	}
	if n := h.sim.Count(simulator.EndpointTask); n != 1 {
		t.Errorf("upstream was queried %d times", n)
	}
	claim, _, _ := claims.Get(t.Context(), "search", id)
	if claim.Final() || h.settlements() != "" {
		t.Errorf("not charged, and yet %s is kept and %q counted", claim.Answer.Status, h.settlements())
	}
	clock.move(time.Minute)
	if due, err := claims.Due(t.Context(), 10, nil); err != nil || len(due) != 1 {
		t.Errorf("another replica is handed %d tasks, %v", len(due), err)
	}
	balances.recover()
	claim, _, _ = claims.Get(t.Context(), "search", id)
	if !claim.Final() || h.settlements() != "succeeded 1" {
		t.Errorf("charged, and %s is kept and %q counted", claim.Answer.Status, h.settlements())
	}
	h.gateway.Finish(t.Context())
	h.stands(t, "images", "1", "0", 0)
}

// A task whose end waits for its charge is not charged as held when its life ends.
func TestAnEndThatWaitsWasHeard(t *testing.T) {
	h, clock, balances, _ := lately(t, limited("quotas: {images: {month: 100}}"))
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Task: &simulator.FaultTask{Outcome: "fail"}})
	id := h.create(t)
	clock.move(23 * time.Hour)
	balances.fall()
	h.poll(id)
	clock.move(2 * time.Hour)
	h.gateway.Finish(t.Context())
	if got := h.settlements(); got != "" {
		t.Errorf("the accounts were not away: %q", got)
	}
	balances.recover()
	if got := h.settlements(); got != "failed 1" {
		t.Errorf("%q", got)
	}
}

// A request's charge is counted when the state has taken it.
func TestRequestsAreCountedWhenTheyAreCharged(t *testing.T) {
	h, _, balances, _ := lately(t)
	balances.fall()
	h.ask("POST", textPath, textBody)
	h.records.await(t, 1)
	if got := h.settlements(); got != "" {
		t.Errorf("nothing is charged, and %q is counted", got)
	}
	balances.recover()
	if got := h.settlements(); got != "exact 1" {
		t.Errorf("%q", got)
	}
}

// Many ends wait for their charges at once, each shown to its own client and not queried again.
func TestManyEndsWait(t *testing.T) {
	const tasks = 20
	h, clock, balances, _ := lately(t, limited("quotas: {images: {day: 100}}"))
	var ids []string
	for range tasks {
		ids = append(ids, h.create(t))
	}
	clock.move(time.Minute)
	balances.fall()
	for range 3 {
		for _, id := range ids {
			if got := h.poll(id); got.member(t, "output", "task_status") != "SUCCEEDED" {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		clock.move(7 * time.Second)
		h.gateway.Finish(t.Context())
	}
	if n := h.sim.Count(simulator.EndpointTask); n != tasks {
		t.Errorf("upstream was queried %d times about %d ends", n, tasks)
	}
	balances.recover()
	if got := h.settlements(); got != fmt.Sprint("succeeded ", tasks) {
		t.Errorf("%q", got)
	}
	h.stands(t, "images", fmt.Sprint(tasks), "0", 0)
}

// An end without room is shown to the client whose poll made the query. The others do not wait: they get the last known
// answer until the task is queried again, an interval later, and it is charged once.
func TestAnEndWithoutRoom(t *testing.T) {
	h, clock, balances, _ := lately(t, limited("quotas: {images: {day: 100}}"), func(p *plan) { p.config.FillUnsettled() })
	id := h.create(t)
	clock.move(time.Minute)
	balances.fall()
	for n, want := range []string{"SUCCEEDED sluice;fwd=uri-miss;stored", "PENDING sluice;hit;ttl=-55;detail=stale"} {
		got := h.poll(id)
		if told := got.member(t, "output", "task_status") + " " + got.header.Get("Cache-Status"); told != want {
			t.Errorf("poll %d: %s, want %s", n, told, want)
		}
	}
	clock.move(6 * time.Second)
	if got := h.poll(id); got.member(t, "output", "task_status") != "SUCCEEDED" || h.sim.Count(simulator.EndpointTask) != 2 {
		t.Errorf("an interval later: %s, queried %d times", got.body, h.sim.Count(simulator.EndpointTask))
	}
	balances.recover()
	if got := h.settlements(); got != "succeeded 1" {
		t.Errorf("%q", got)
	}
	h.stands(t, "images", "1", "0", 0)
}

// A task whose end was never learned stays due until its charge is taken, so that another replica charges it if this one dies. It is
// charged once.
func TestAnUnheardTaskIsKeptUntilItIsCharged(t *testing.T) {
	h, clock, balances, claims := lately(t, limited("quotas: {images: {month: 100}}"))
	h.create(t)
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointTask, Error: &simulator.FaultError{Status: 500}})
	clock.move(24*time.Hour + time.Second)
	balances.fall()
	for range 3 {
		h.gateway.Finish(t.Context())
		clock.move(time.Minute)
	}
	due, err := claims.Due(t.Context(), 10, nil)
	if err != nil || len(due) != 1 || h.settlements() != "" {
		t.Errorf("another replica is handed %d tasks, %v; %q is settled", len(due), err, h.settlements())
	}
	if n := len(balances.kept); n != 1 {
		t.Errorf("%d charges wait for one task", n)
	}
	balances.recover()
	clock.move(time.Minute)
	if due, err = claims.Due(t.Context(), 10, nil); err != nil || len(due) != 0 || h.settlements() != "unheard 1" {
		t.Errorf("it is charged, and %d tasks are due, %v; %q is settled", len(due), err, h.settlements())
	}
}
