package gateway_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/gateway/stores"
	"sluice/policy/limit"
)

// counted counts the calls of the accounts.
type counted struct {
	stores.Balances
	asked atomic.Int64
}

func (c *counted) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	c.asked.Add(1)
	return c.Balances.Admit(ctx, h)
}

// stopped is a harness whose clock stands still, with counted accounts.
func stopped(t *testing.T, lines ...string) (*harness, *counted) {
	at := time.Now()
	balances := &counted{Balances: limit.NewMemory(func() time.Time { return at })}
	return build(t, limited(lines...), func(p *plan) { p.now, p.balances = func() time.Time { return at }, balances }), balances
}

// A team that sends again while it is refused causes no call of the accounts and empties no bucket.
func TestKnocking(t *testing.T) {
	h, balances := stopped(t, "rates: {requests: {per: 1h, limit: 1}}")
	h.ask("POST", textPath, textBody)
	h.records.await(t, 1)
	for n := range 50 {
		refused := h.ask("POST", []string{textPath, multimodalPath}[n%2], textBody)
		refused.wants(t, 429, "admit/rate", "Throttling.RateQuota")
		if got := refused.header.Get("Ratelimit"); got != `"requests";r=0;t=3600` || len(refused.header.Get("Retry-After")) != 4 {
			t.Fatalf("RateLimit %s, Retry-After %s", got, refused.header.Get("Retry-After"))
		}
	}
	if n := balances.asked.Load(); n != 2 {
		t.Errorf("the accounts were called %d times, want 2: for the admitted request and the first refused one", n)
	}
	if n := h.sim.Count(simulator.EndpointText); n != 1 {
		t.Errorf("%d requests reached the service", n)
	}
}

// A limit of images refuses images, and admits a text; a settlement that makes room takes effect immediately.
func TestMemoKnowsRoutes(t *testing.T) {
	h, balances := stopped(t, "open_tasks: 1")
	async := []string{"X-Service-Async", "enable"}
	task := h.ask("POST", imagePath, imageBody, async...).member(t, "output", "task_id")
	for range 3 {
		h.ask("POST", imagePath, imageBody, async...).wants(t, 429, "admit/open_tasks", "Throttling.RateQuota")
	}
	if n := balances.asked.Load(); n != 2 {
		t.Errorf("called %d times, want 2", n)
	}
	if got := h.ask("POST", textPath, textBody); got.status != 200 {
		t.Errorf("a text: %d %s", got.status, got.body)
	}
	h.ask("POST", imagePath, imageBody, async...).wants(t, 429, "admit/open_tasks", "Throttling.RateQuota")
	for range 5 {
		h.ask("GET", tasksPath+"/"+task, "")
	}
	if got := h.ask("POST", imagePath, imageBody, async...); got.status != 200 {
		t.Errorf("the task has ended, and the next is refused: %s", got.body)
	}
}

// A picture that is made within its request takes no task: it is admitted although the same one as a task was refused a moment ago.
func TestMemoKnowsWhatCreatesTasks(t *testing.T) {
	h, _ := stopped(t, "open_tasks: 1")
	h.create(t)
	h.ask("POST", imagePath, imageBody, async...).wants(t, 429, "admit/open_tasks", "Throttling.RateQuota")
	if got := h.ask("POST", multimodalPath, imageBody); got.status != 200 {
		t.Errorf("a picture without a task: %d %s", got.status, got.body)
	}
}

// A settlement makes room when it is taken, maybe later: earlier refusals are not remembered after that.
func TestMemoForgetsWhenAChargeIsTaken(t *testing.T) {
	h, clock, balances, _ := lately(t, limited("open_tasks: 1"))
	async := []string{"X-Service-Async", "enable"}
	id := h.create(t)
	clock.move(time.Minute)
	balances.fall()
	h.poll(id)
	h.ask("POST", imagePath, imageBody, async...).wants(t, 429, "admit/open_tasks", "Throttling.RateQuota")
	balances.recover()
	if got := h.ask("POST", imagePath, imageBody, async...); got.status != 200 {
		t.Errorf("the task's end is charged, and the next is refused: %d %s", got.status, got.body)
	}
}

// The same holds for a request's settlement: here of four that the service refused, which cost no tokens.
func TestMemoForgetsWhenARequestIsCharged(t *testing.T) {
	h, _, balances, _ := lately(t, limited("quotas: {tokens: {day: 40}}"))
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointText, Times: 4,
		Error: &simulator.FaultError{Status: 400, Code: "InvalidParameter", Message: "no"}})
	balances.fall()
	for range 4 {
		h.ask("POST", textPath, textBody)
	}
	h.records.await(t, 4)
	h.ask("POST", textPath, textBody).wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
	balances.recover()
	if got := h.ask("POST", textPath, textBody); got.status != 200 {
		t.Errorf("nothing was used, and the next is refused: %d %s", got.status, got.body)
	}
}

// A remembered refusal is checked again after a second: another replica may have made room.
func TestAMemoStandsForASecond(t *testing.T) {
	clock := &handClock{at: time.Now()}
	balances := &counted{Balances: limit.NewMemory(clock.now)}
	h := build(t, limited("rates: {requests: {per: 1h, limit: 1}}"), func(p *plan) { p.now, p.balances = clock.now, balances })
	for n, want := range []int64{1, 2, 2, 3} {
		h.ask("POST", textPath, textBody)
		h.records.await(t, n+1)
		if got := balances.asked.Load(); got != want {
			t.Errorf("after %d requests the accounts were called %d times, want %d", n+1, got, want)
		}
		if n == 2 {
			clock.move(time.Second)
		}
	}
}

// A smaller request may fit: nothing is remembered.
func TestMemoKeepsOnlyWhatCloses(t *testing.T) {
	h, balances := stopped(t, "quotas: {images: {day: 5}}")
	async := []string{"X-Service-Async", "enable"}
	four := strings.Replace(imageBody, `"n":1`, `"n":4`, 1)
	h.ask("POST", imagePath, four, async...)
	h.ask("POST", imagePath, four, async...).wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
	if got := h.ask("POST", imagePath, imageBody, async...); got.status != 200 {
		t.Errorf("one image fits: %s", got.body)
	}
	h.ask("POST", imagePath, imageBody, async...).wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
	before := balances.asked.Load()
	h.gateway.SetTeams(parse(t, h.teamsDoc))
	h.ask("POST", imagePath, imageBody, async...).wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
	if balances.asked.Load() != before+1 {
		t.Error("a reload left a refusal remembered")
	}
}

// A remembered refusal answers only requests that it is right for: what can never fit is another refusal, and so is another number of
// pictures. The same request again costs no look at the accounts.
func TestARememberedRefusalIsRightForPictures(t *testing.T) {
	for limits, row := range map[string]string{
		"quotas: {images: {day: 3}}": "admit/quota", "rates: {images: {per: 1h, limit: 3}}": "admit/rate",
		"quotas: {images: {day: 3}, requests: {day: 1}}": "admit/quota",
	} {
		h, balances := stopped(t, limits)
		if got := h.ask("POST", imagePath, ofImages(3), async...); got.status != 200 {
			t.Fatal(got.status, got.body)
		}
		for range 3 {
			h.ask("POST", imagePath, imageBody, async...).wants(t, 429, row, refusalCode(row))
		}
		if n := balances.asked.Load(); n != 2 {
			t.Errorf("%s: the accounts were called %d times, want 2", limits, n)
		}
		h.ask("POST", imagePath, ofImages(4), async...).wants(t, 400, "admit/never", "InvalidParameter")
		if got := h.ask("POST", imagePath, ofImages(2), async...); got.status != 429 ||
			strings.Contains(limits, "images: {day: 3}}") && !strings.Contains(got.body, "may cost 2") {
			t.Errorf("%s: %s", limits, got.body)
		}
	}
}

func refusalCode(row string) string {
	if row == "admit/rate" {
		return "Throttling.RateQuota"
	}
	return "Throttling.AllocationQuota"
}

// A text is refused unread, so the refusal says nothing of what it may cost, and nothing of the team that it was remembered for.
func TestARememberedRefusalSaysWhatHoldsForAll(t *testing.T) {
	at := time.Now()
	counts := &counted{Balances: limit.NewMemory(func() time.Time { return at })}
	h := build(t, housed("{quotas: {tokens: {day: 4}}}"), limited("quotas: {requests: {day: 100}}"), func(p *plan) {
		p.now, p.balances = func() time.Time { return at }, counts
	})
	for n := range 10 {
		if h.ask("POST", textPath, textBody).status == 429 {
			break
		}
		h.records.await(t, n+1)
	}
	before := counts.asked.Load()
	for _, team := range []string{"search", "shop"} {
		got := h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys[team])
		got.wants(t, 429, "admit/house", "Throttling.AllocationQuota")
		const says = "has 0 left of its quota tokens-day of 4; it resets in "
		if !strings.Contains(got.body, says) || strings.Contains(got.body, "cost") || strings.Contains(got.body, "search") ||
			got.header.Get("Ratelimit") != "" {
			t.Errorf("%s: %v %s", team, got.header, got.body)
		}
	}
	if n := counts.asked.Load(); n != before {
		t.Errorf("the accounts were called %d times more", n-before)
	}
}
