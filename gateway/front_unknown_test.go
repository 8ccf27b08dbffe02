package gateway_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cache"
	"sluice/policy/limit"
)

// counting counts the requests of a service, and answers each.
func counting(asked *atomic.Int64, answer http.HandlerFunc) func(*plan) {
	return func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			answer(w, r)
		})
	}
}

// A picture without a task may have been made when the service answers 500, 502 or 504, or when its answer is lost: no
// repetition makes another.
func TestFrontUnknownPictureIsNotRepeated(t *testing.T) {
	for _, status := range []int{0, 500, 502, 504} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			var asked atomic.Int64
			h := painting(t, limited("quotas: {images: {day: 100}}"), counting(&asked, func(w http.ResponseWriter, _ *http.Request) {
				if status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"code":"InternalError","message":"no","request_id":"r"}`)
			}))
			l := &library{harness: h, client: h.client}
			got, err := l.ask(frontImages, frontSync)
			if err != nil {
				t.Fatal(err)
			}
			again := h.ask("POST", frontImages, frontSync, "X-Stainless-Retry-Count", "1")
			if asked.Load() != 1 || got.header.Get("X-Should-Retry") != "false" || again.status != got.status ||
				again.header.Get("X-Should-Retry") != "false" {
				t.Errorf("%d generations, %d %v, again %d %v", asked.Load(), got.status, got.header, again.status, again.header)
			}
		})
	}
}

// A request is repeated if the service reports that it did nothing.
func TestFrontUnavailablePictureIsRepeated(t *testing.T) {
	var asked atomic.Int64
	h := painting(t, counting(&asked, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":"ServiceUnavailable","message":"no","request_id":"r"}`)
	}))
	l := &library{harness: h, client: h.client}
	if got, err := l.ask(frontImages, frontSync); err != nil || asked.Load() != 3 {
		t.Errorf("%d generations, %d, %v", asked.Load(), got.status, err)
	}
}

// The answer with a picture breaks off: the library learns immediately that a repetition can only waste. If it still repeats, the
// answer does not mention a key that it did not send.
func TestFrontCutPictureIsNotRepeated(t *testing.T) {
	var asked atomic.Int64
	h := painting(t, limited("quotas: {images: {day: 100}}"), counting(&asked, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"output":{"choices":[{"finish_reason":"stop","message":{"role":"assistant",`+
			`"content":[{"image":"https://x.example/1.png"}]}}]},"usage":{"image_count":1},`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	for attempt := range 2 {
		got := h.ask("POST", frontImages, frontSync, "X-Stainless-Retry-Count", strconv.Itoa(attempt))
		got.wantsOpenAI(t, 502, "server_error", "InternalError", "")
		if got.header.Get("X-Should-Retry") != "false" || asked.Load() != 1 || strings.Contains(got.body, "Idempotency-Key") {
			t.Errorf("attempt %d: %v, %d generations, %s", attempt, got.header, asked.Load(), got.body)
		}
	}
}

// The answer to a chat is lost: the service may have charged for it, and the library must not pay again.
func TestFrontLostChatIsNotRepeated(t *testing.T) {
	var asked atomic.Int64
	h := fronted(t, counting(&asked, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	l := &library{harness: h, client: h.client}
	got, err := l.ask(frontChats, frontChat)
	if err != nil || asked.Load() != 1 || got.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d generations, %d %v, %v", asked.Load(), got.status, got.header, err)
	}
}

// A chat that was charged, and whose answer the client cannot have, is not repeated.
func TestFrontChargedChatIsNotRepeated(t *testing.T) {
	const (
		counted = `"usage":{"input_tokens":9000,"output_tokens":1}`
		begun   = "data:{\"output\":{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":\"null\"}]}," +
			counted + "}\n\n"
	)
	stream := strings.Replace(frontChat, "{", `{"stream":true,`, 1)
	for about, c := range map[string]struct {
		path, body, media, answer string
		cut                       bool
	}{
		"a stream that is cut before any text": {frontChats, stream, "text/event-stream", begun, true},
		"a stream that ends before any text":   {frontChats, stream, "text/event-stream", begun, false},
		"a stream that goes wrong":             {frontChats, stream, "text/event-stream", begun + "data:{\n\n", false},
		"a stream that goes wrong and is cut":  {frontChats, stream, "text/event-stream", begun + "data:{\n\n", true},
		"an answer without a choice":           {frontChats, frontChat, "application/json", `{"output":{"choices":[]},` + counted + `}`, false},
		"an answer that is cut": {frontChats, frontChat, "application/json",
			`{"output":{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]},` + counted + `,`, true},
	} {
		t.Run(about, func(t *testing.T) {
			var asked atomic.Int64
			h := fronted(t, counting(&asked, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.media)
				_, _ = io.WriteString(w, c.answer)
				_ = http.NewResponseController(w).Flush()
				if c.cut {
					panic(http.ErrAbortHandler)
				}
			}))
			l := &library{harness: h, client: h.client}
			got, err := l.ask(c.path, c.body)
			if err != nil || asked.Load() != 1 || got.status != http.StatusBadGateway || got.header.Get("X-Should-Retry") != "false" {
				t.Errorf("%d generations, %d %v, %v", asked.Load(), got.status, got.header, err)
			}
		})
	}
}

// An error of the service that counts what was used is charged, and so not repeated; one that counts nothing may be, and so may a refusal
// that another try can avoid.
func TestFrontChargedErrorIsNotRepeated(t *testing.T) {
	const counted = `"usage":{"input_tokens":9000,"output_tokens":100}`
	frame := func(status int, more string) string {
		return fmt.Sprintf("event:error\n:HTTP_STATUS/%d\ndata:{\"code\":\"InternalError\",\"message\":\"m\"%s}\n\n", status, more)
	}
	stream := strings.Replace(frontChat, "{", `{"stream":true,`, 1)
	for about, c := range map[string]struct {
		body   string
		status int // of the service's answer
		answer string
		final  bool
	}{
		"an error that counts":               {frontChat, 500, `{"code":"InternalError","message":"m",` + counted + `}`, true},
		"an error that counts nothing":       {frontChat, 500, `{"code":"InternalError","message":"m"}`, false},
		"a refusal that counts":              {frontChat, 429, `{"code":"Throttling","message":"m",` + counted + `}`, false},
		"an error in a stream that counts":   {stream, 200, frame(500, ","+counted), true},
		"an error in a stream, no count":     {stream, 200, frame(500, ""), false},
		"a refusal in a stream, that counts": {stream, 200, frame(429, ","+counted), false},
	} {
		t.Run(about, func(t *testing.T) {
			h := fronted(t, says(c.status, map[bool]string{true: streamType, false: "application/json"}[c.status == 200], c.answer, nil))
			got := h.ask("POST", frontChats, c.body)
			charged := h.records.await(t, 1)[0].Cost.Amounts[limit.Tokens]
			if final := got.header.Get("X-Should-Retry") == "false"; got.status < 400 || final != c.final ||
				(charged > 0) != strings.Contains(c.answer, "usage") {
				t.Errorf("%d %v, %d tokens are charged: %s", got.status, got.header, charged, got.body)
			}
		})
	}
}

// countedOutcomes count the calls of the store.
type countedOutcomes struct {
	*cache.Outcomes
	joins atomic.Int64
}

func (o *countedOutcomes) Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte,
	a cache.Attempt) (cache.IdempotencyName, cache.Outcome, bool, error) {
	o.joins.Add(1)
	return o.Outcomes.Join(ctx, all, body, a)
}

// A team at its limit that still requests pictures is refused without a look at the store, like any request that was refused a
// moment ago; its repetitions are looked up.
func TestFrontFloodOfRefusedPicturesSparesTheStore(t *testing.T) {
	const flood = 600
	store := &countedOutcomes{Outcomes: cache.NewOutcomes(24*time.Hour, time.Now)}
	e := &easel{}
	h := painting(t, limited("quotas: {images: {day: 1}}"), e.on, func(p *plan) { p.outcomes = store })
	first := h.attempt(0)
	begun := time.Now()
	for i := range flood {
		body := strings.Replace(onePicture, "lighthouse", fmt.Sprint("mill ", i), 1)
		if got := h.ask("POST", frontImages, body, "X-Stainless-Retry-Count", "0"); got.status != http.StatusTooManyRequests {
			t.Fatal(got.status, got.body)
		}
	}
	asked := store.joins.Load()
	if most := 300 + int64(60*time.Since(begun).Seconds()); most < flood && asked > most {
		t.Errorf("%d of %d refused requests were looked up, want at most %d", asked, flood, most)
	}
	if again := h.attempt(1); again.body != first.body {
		t.Errorf("a repetition of a paid picture: %d %s", again.status, again.body)
	}
}
