package gateway_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/teams"
)

// library repeats a request as OpenAI's libraries do: after 408, 409, 429, 500 and above, after its own timeout and after a lost
// connection, twice at most, unless the answer forbids it.
type library struct {
	*harness
	client *http.Client
	tries  int
	header []string
}

func (l *library) ask(path, body string) (reading, error) {
	var last reading
	var err error
	for l.tries = 0; l.tries < 3; l.tries++ {
		last, err = l.try(l.request("POST", path, body, append(l.header, "X-Stainless-Retry-Count", strconv.Itoa(l.tries))...))
		repeats := err != nil || last.status == 408 || last.status == 409 || last.status == 429 || last.status >= 500
		if !repeats || err == nil && last.header.Get("X-Should-Retry") == "false" {
			break
		}
	}
	l.tries = min(l.tries+1, 3)
	return last, err
}

func (l *library) try(r *http.Request) (reading, error) {
	resp, err := l.client.Do(r)
	if err != nil {
		return reading{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return reading{resp.StatusCode, resp.Header, string(body), err}, err
}

// between sits between the library and the gateway. It spoils the first attempts.
type between struct {
	spoil  func(w http.ResponseWriter, r *http.Request, next http.Handler)
	times  int64
	passed atomic.Int64
}

func (b *between) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" && b.passed.Add(1) <= b.times {
			b.spoil(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// before answers with a status, and the gateway gets nothing.
func before(status int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
	}
}

// after lets the gateway answer, and answers with a status in its place.
func after(status int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		w.WriteHeader(status)
	}
}

// However a library's attempts fail, before and after the task was made, it pays for one task and gets its pictures.
func TestFrontIsPaidOnce(t *testing.T) {
	parallel(t)
	for _, header := range [][]string{nil, {"Idempotency-Key", "a"}} {
		for _, status := range []int{408, 409, 429, 500, 502, 503} {
			about := strconv.Itoa(status) + strings.Join(header, " ")
			t.Run(about+"/before", func(t *testing.T) { paidOnce(t, &between{spoil: before(status), times: 2}, header, 0) })
			t.Run(about+"/after", func(t *testing.T) { paidOnce(t, &between{spoil: after(status), times: 2}, header, 0) })
		}
		t.Run("own timeout"+strings.Join(header, " "), func(t *testing.T) { paidOnce(t, &between{}, header, 150*time.Millisecond) })
	}
}

func paidOnce(t *testing.T, b *between, header []string, timeout time.Duration) {
	parallel(t)
	h := painting(t, limited("quotas: {images: {day: 100}}"), func(p *plan) {
		p.wrap = b.wrap
		if timeout > 0 {
			p.sim.Running = 2 * timeout
		}
	})
	l := &library{harness: h, header: header, client: &http.Client{Transport: h.client.Transport, Timeout: timeout}}
	got, err := l.ask(frontImages, frontPicture)
	for timeout > 0 && err != nil { // a busy machine may need more attempts than the library makes
		l.header = append(header, "X-Stainless-Retry-Count", "2")
		got, err = l.try(h.request("POST", frontImages, frontPicture, l.header...))
	}
	if err != nil {
		t.Fatal(err)
	}
	if made := got.images(t); len(made.Data) != 2 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if n := h.sim.Count(simulator.EndpointImage); n != 1 {
		t.Errorf("%d creations", n)
	}
	h.stands(t, "images", "2", "0", 0)
}

// A client whose connection is reset, as soon as its request has left or when the task was made, gets the task by repeating.
func TestFrontIsPaidOnceAfterAReset(t *testing.T) {
	parallel(t)
	for _, made := range []bool{false, true} {
		t.Run(strconv.FormatBool(made), func(t *testing.T) {
			h := painting(t, limited("quotas: {images: {day: 100}}"))
			conn := h.dial()
			if err := h.request("POST", frontImages, frontPicture, "X-Stainless-Retry-Count", "0").Write(conn); err != nil {
				t.Fatal(err)
			}
			for made && h.sim.Count(simulator.EndpointImage) == 0 {
				time.Sleep(time.Millisecond)
			}
			_ = conn.SetLinger(0)
			_ = conn.Close()
			if !made {
				h.records.await(t, 1) // so that the repetition arrives after it, as a library's does
			}
			if got := h.ask("POST", frontImages, frontPicture, "X-Stainless-Retry-Count", "1").images(t); len(got.Data) != 2 {
				t.Errorf("got %+v", got)
			}
			if n := h.sim.Count(simulator.EndpointImage); n != 1 {
				t.Errorf("%d creations", n)
			}
			h.stands(t, "images", "2", "0", 0)
		})
	}
}

// The service's own answer to the creation: if it excludes that a task runs, the library's repetition makes one, otherwise none.
func TestFrontRepeatsWhatTheServiceRefused(t *testing.T) {
	parallel(t)
	for status, creations := range map[int]int{408: 2, 409: 2, 429: 2, 503: 2, 500: 1, 502: 1} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			h := painting(t, limited("quotas: {images: {day: 100}}"))
			h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Times: 1, Error: &simulator.FaultError{Status: status}})
			l := &library{harness: h, client: h.client}
			got, err := l.ask(frontImages, frontPicture)
			if err != nil {
				t.Fatal(err)
			}
			if n := h.sim.Count(simulator.EndpointImage); n != creations || l.tries != creations {
				t.Errorf("%d creations in %d attempts, want %d", n, l.tries, creations)
			}
			if creations == 2 {
				got.images(t)
				h.stands(t, "images", "2", "0", 0)
				return
			}
			got.wantsOpenAI(t, status, "server_error", got.code(t), "")
			if got.header.Get("X-Should-Retry") != "false" {
				t.Errorf("headers %v", got.header)
			}
			again := h.ask("POST", frontImages, frontPicture, "X-Stainless-Retry-Count", "1")
			if again.status != status || again.header.Get("X-Should-Retry") != "false" || h.sim.Count(simulator.EndpointImage) != 1 {
				t.Errorf("again: %d %v, %d creations", again.status, again.header, h.sim.Count(simulator.EndpointImage))
			}
		})
	}
}

// code is the code of an error in OpenAI's form.
func (r reading) code(t testing.TB) string {
	t.Helper()
	var body openAIError
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || body.Error.Code == nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return *body.Error.Code
}

// A creation whose answer is lost is of unknown outcome: no repetition makes another.
func TestFrontLostAnswerIsNotRepeated(t *testing.T) {
	h := painting(t, limited("quotas: {images: {day: 100}}"))
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Times: 1, Drop: "close"})
	l := &library{harness: h, client: h.client}
	got, err := l.ask(frontImages, frontPicture)
	if err != nil {
		t.Fatal(err)
	}
	got.wantsOpenAI(t, 502, "server_error", "InternalError", "")
	if l.tries != 1 || got.header.Get("Sluice-Refusal") != "forward/answer" {
		t.Errorf("%d attempts, %v", l.tries, got.header)
	}
	for range 2 {
		h.ask("POST", frontImages, frontPicture, "X-Stainless-Retry-Count", "1").wantsOpenAI(t, 502, "server_error", "InternalError", "")
	}
	if n := h.sim.Count(simulator.EndpointImage); n != 1 {
		t.Errorf("%d creations", n)
	}
}

// A repetition that arrives before the service has answered the first attempt waits for it and gets its task.
func TestFrontRepetitionWaitsForTheFirst(t *testing.T) {
	parallel(t)
	h := painting(t, limited("quotas: {images: {day: 100}}"))
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Times: 1, Stall: "before"})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		if resp, err := h.client.Do(h.request("POST", frontImages, frontPicture).WithContext(ctx)); err == nil {
			_ = resp.Body.Close()
		}
	}()
	if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	leave()
	<-left
	repeated := make(chan reading, 1)
	go func() { repeated <- h.ask("POST", frontImages, frontPicture, "X-Stainless-Retry-Count", "1") }()
	select {
	case got := <-repeated:
		t.Fatalf("it did not wait: %d %s", got.status, got.body)
	case <-time.After(200 * time.Millisecond):
	}
	h.sim.Release()
	if made := (<-repeated).images(t); len(made.Data) != 2 {
		t.Errorf("got %+v", made)
	}
	if n := h.sim.Count(simulator.EndpointImage); n != 1 {
		t.Errorf("%d creations", n)
	}
	h.stands(t, "images", "2", "0", 0)
}

// A request that is no repetition makes a task of its own, even if it is equal.
func TestFrontEqualRequestsAreNotRepetitions(t *testing.T) {
	parallel(t)
	h := painting(t)
	first := h.ask("POST", frontImages, frontPicture)
	second := h.ask("POST", frontImages, frontPicture, "X-Stainless-Retry-Count", "0")
	repeated := h.ask("POST", frontImages, frontPicture, "X-Stainless-Retry-Count", "1")
	if a, b, c := first.header.Get("Sluice-Task"), second.header.Get("Sluice-Task"),
		repeated.header.Get("Sluice-Task"); a == "" || a == b || b != c {
		t.Errorf("tasks %s, %s and again %s", a, b, c)
	}
	for about, other := range map[string]reading{
		"another body":       h.ask("POST", frontImages, strings.Replace(frontPicture, "lighthouse", "mill", 1), "X-Stainless-Retry-Count", "1"),
		"another team's key": h.ask("POST", frontImages, frontPicture, "X-Stainless-Retry-Count", "1", "Authorization", "Bearer "+h.keys["shop"]),
	} {
		if task := other.header.Get("Sluice-Task"); other.status != 200 || task == "" || task == second.header.Get("Sluice-Task") {
			t.Errorf("%s: %d with the task %s", about, other.status, task)
		}
	}
}

// An attempt that the team's limits refuse hides no task that was made before it.
func TestFrontRefusedAttemptHidesNoTask(t *testing.T) {
	parallel(t)
	h := painting(t, limited("quotas: {images: {day: 2}}"))
	first := h.ask("POST", frontImages, frontPicture)
	h.ask("POST", frontImages, frontPicture).wantsOpenAI(t, 429, "rate_limit_error", "insufficient_quota", "")
	h.gateway.SetTeams(parse(t, h.teamsDoc)) // so that the refusal is not remembered
	if again := h.ask("POST", frontImages, frontPicture, "X-Stainless-Retry-Count", "1"); again.body != first.body {
		t.Errorf("%d %s, want %s", again.status, again.body, first.body)
	}
}

func TestFrontIdempotencyKeyIsOfOneBody(t *testing.T) {
	parallel(t)
	h := painting(t)
	one, oneType := form(t, "one", "model", "gen2.6-image", "prompt", "Winter")
	same, sameType := form(t, "two", "model", "gen2.6-image", "prompt", "Winter")
	other, otherType := form(t, "one", "model", "gen2.6-image", "prompt", "Summer")
	first := h.ask("POST", frontEdits, one, "Content-Type", oneType, "Idempotency-Key", "a")
	if got := h.ask("POST", frontEdits, same, "Content-Type", sameType, "Idempotency-Key", "a"); got.body != first.body || got.status != 200 {
		t.Errorf("with another boundary: %d %s, want %s", got.status, got.body, first.body)
	}
	h.ask("POST", frontEdits, other, "Content-Type", otherType, "Idempotency-Key", "a").
		wantsOpenAI(t, 422, "invalid_request_error", "InvalidParameter", "")
	if n := h.sim.Count(simulator.EndpointImage); n != 1 {
		t.Errorf("%d creations", n)
	}
}

// An Idempotency-Key is the team's, as on the service's own paths: a job that continues after its key was replaced pays for
// nothing again. Teams' keys do not collide.
func TestFrontIdempotencyKeyOutlivesTheKey(t *testing.T) {
	parallel(t)
	h := painting(t)
	first := h.ask("POST", frontImages, frontPicture, "Idempotency-Key", "a")
	next, err := teams.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	h.gateway.SetTeams(parse(t, strings.Replace(h.teamsDoc, "keys:\n", "keys:\n"+next.Lines(), 1)))
	again := h.ask("POST", frontImages, frontPicture, "Idempotency-Key", "a", "Authorization", "Bearer "+next.Reveal())
	if again.status != http.StatusOK || again.body != first.body || again.task() != first.task() {
		t.Errorf("%d %s, want %s", again.status, again.body, first.body)
	}
	if other := h.ask("POST", frontImages, frontPicture, "Idempotency-Key", "a", "Authorization",
		"Bearer "+h.keys["shop"]); other.status != http.StatusOK || other.task() == first.task() {
		t.Errorf("another team's: %d %s", other.status, other.body)
	}
	if n := h.sim.Count(simulator.EndpointImage); n != 2 {
		t.Errorf("%d creations", n)
	}
}

// A picture without a task is paid once, too.
func TestFrontPaysOnceWithoutATask(t *testing.T) {
	parallel(t)
	h := painting(t, limited("quotas: {images: {day: 100}}"))
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointMultimodal, Times: 1, Delay: 300 * time.Millisecond})
	l := &library{harness: h, client: &http.Client{Transport: h.client.Transport, Timeout: 100 * time.Millisecond}}
	got, err := l.ask(frontImages, frontSync)
	for errors.Is(err, context.DeadlineExceeded) {
		got, err = l.try(h.request("POST", frontImages, frontSync, "X-Stainless-Retry-Count", "2"))
	}
	if err != nil || len(got.images(t).Data) != 1 {
		t.Fatalf("%v %d %s", err, got.status, got.body)
	}
	if n := h.sim.Count(simulator.EndpointMultimodal); n != 1 {
		t.Errorf("%d generations", n)
	}
	h.stands(t, "images", "1", "0", 0)
}

// A gateway that stops sends its waiting clients elsewhere, and they get their task there.
func TestFrontStopsWaitingWhenItStops(t *testing.T) {
	parallel(t)
	h := painting(t, func(p *plan) { p.sim.Running = time.Hour })
	waiting := make(chan reading, 1)
	go func() { waiting <- h.ask("POST", frontImages, frontPicture) }()
	for h.sim.Count(simulator.EndpointTask) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	h.gateway.BeginStop()
	got := <-waiting
	got.wantsOpenAI(t, 503, "server_error", "ServiceUnavailable", "")
	if got.header.Get("Retry-After") == "" || got.header.Get("X-Should-Retry") != "" || got.header.Get("Sluice-Task") == "" {
		t.Errorf("headers %v", got.header)
	}
}
