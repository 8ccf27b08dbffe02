package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/feed"
	"sluice/gateway/oidc"
	"sluice/policy/event"
	"sluice/policy/teams"
)

const eventsPath = "/sluice/v1/events"

// moody is an outbox that can be away.
type moody struct {
	*event.Memory
	away atomic.Bool
}

func (m *moody) Last(ctx context.Context, owner string) (event.ID, error) {
	if m.away.Load() {
		return event.ID{}, errors.New("away")
	}
	return m.Memory.Last(ctx, owner)
}

// expiring names one team until its token expires.
type expiring struct{ expired atomic.Bool }

func (*expiring) Follow([]*teams.Issuer) {}

func (e *expiring) Identify(context.Context, string) (oidc.Workload, error) {
	if e.expired.Load() {
		return oidc.Workload{}, errors.New("expired")
	}
	return oidc.Workload{Team: "search", Key: "jwt:0123456789ab"}, nil
}

// eventsHarness is a harness that streams events.
type eventsHarness struct {
	*harness
	outbox *moody
	feed   *feed.Feed
	tokens *expiring
}

func buildEvents(t *testing.T, more ...func(*plan)) *eventsHarness {
	s := &eventsHarness{outbox: &moody{Memory: event.NewMemory(event.DefaultBounds, time.Now)}, tokens: new(expiring)}
	s.feed = feed.New(s.outbox, time.Now)
	s.harness = build(t, append(more, func(p *plan) { p.feed, p.tokens = s.feed, s.tokens })...)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); s.feed.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	return s
}

// open opens a stream, and returns its status and what waits until it has ended and says how.
func (s *eventsHarness) open(key string) (answer *http.Response, ended func() error) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.server.URL+eventsPath, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err = s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry: ") {
		s.Fatalf("%d %s %v", answer.StatusCode, line, err)
	}
	return answer, func() error {
		defer func() { _ = answer.Body.Close() }()
		_, err := io.Copy(io.Discard, answer.Body)
		return err
	}
}

// A stream is a request as any other: refused in the service's form, one record, whose overhead is not the client's wait. It ends when a
// new request of its client would be refused.
func TestStreamsOfEvents(t *testing.T) {
	s := buildEvents(t)
	s.ask("GET", eventsPath+"?types=nothing", "").wants(t, 400, "inspect/rules", "InvalidParameter")
	s.ask("GET", eventsPath, "", "Last-Event-ID", "1").wants(t, 400, "inspect/rules", "InvalidParameter")
	s.ask("POST", eventsPath, "{}").wants(t, 405, "route/method", "InvalidParameter")
	s.ask("GET", eventsPath, "", "Authorization", "Bearer wrong").wants(t, 401, "authenticate/key", "InvalidApiKey")
	s.outbox.away.Store(true)
	s.ask("GET", eventsPath, "").wants(t, 503, "admit/state", "ServiceUnavailable")
	s.outbox.away.Store(false)
	for range feed.MostStreams {
		stream, err := s.feed.Open(t.Context(), feed.Query{Team: "search"})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
	}
	s.ask("GET", eventsPath, "").wants(t, 429, "throttle/concurrent", "Throttling.RateQuota")

	_, ended := s.open(s.keys["shop"])
	other, err := teams.Parse([]byte("teams: [{id: search}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s.gateway.SetTeams(other)
	if err := ended(); err != nil {
		t.Error("a removed team's stream:", err)
	}
	seen := s.records.await(t, 7)
	if last := seen[len(seen)-1]; last.Status != 200 || last.Refusal != "" || last.Team != "shop" || last.Overhead > time.Second ||
		last.Duration < last.Overhead {
		t.Errorf("%+v", last)
	}
}

// A stream names no model, so a team that may use only some has its events, too.
func TestAStreamOfATeamWithModels(t *testing.T) {
	s := buildEvents(t, limited("models: [\"llm-*\"]"))
	answer, ended := s.open(s.keys["search"])
	if _, err := s.outbox.Append(t.Context(), &event.Draft{Type: event.TaskSucceeded, Team: "search",
		Data: []byte(`{"task_id":"t"}`)}); err != nil {
		t.Fatal(err)
	}
	s.feed.Changed()
	for lines := bufio.NewScanner(answer.Body); ; {
		if !lines.Scan() {
			t.Fatal("the stream has ended: ", lines.Err())
		}
		if strings.Contains(lines.Text(), `"task_id":"t"`) {
			break
		}
	}
	s.gateway.BeginDrain()
	if err := ended(); err != nil {
		t.Error("the gateway drains:", err)
	}
}

// A stream with a token ends when the token has expired, and every stream when the gateway drains.
func TestStreamsEndWithTheirToken(t *testing.T) {
	parallel(t)
	s := buildEvents(t)
	_, ended := s.open("a.b.c")
	s.tokens.expired.Store(true)
	s.feed.Changed()
	if err := ended(); err != nil {
		t.Error("its token has expired:", err)
	}
	_, ended = s.open(s.keys["search"])
	s.gateway.BeginDrain()
	if err := ended(); err != nil {
		t.Error("the gateway drains:", err)
	}
	s.ask("GET", eventsPath, "").wants(t, 503, "serve/stopping", "ServiceUnavailable")
}
