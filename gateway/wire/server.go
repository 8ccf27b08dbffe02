package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SlowStart is the time in which a client may send as little of a body as it likes.
const SlowStart = 10 * time.Second

// NewServer returns the server for one of Sluice's listeners. Its timeouts for a whole request and a whole answer apply to what
// net/http answers itself, and to handlers that set none. The gateway sets its own for each read and each write: timeouts for
// the whole would cut uploads and streams. The caller adds TLS.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       SlowStart,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    32<<10 - 4096, // net/http adds 4,096
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		// The deadlines of single streams do not bound the writing of HTTP/2 frames. Each stream may be a request that runs.
		HTTP2: &http.HTTP2Config{WriteByteTimeout: 30 * time.Second, MaxConcurrentStreams: 100},
		// The routes answer OPTIONS *, like every other request.
		DisableGeneralOptionsHandler: true,
	}
}

// Listen opens the public listener. Its keep-alive probes free the connection of a client that lost power, within a minute.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second,
		Count: 3,
	}}
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return clientListener{listener}, nil
}

// Apart runs a part of a request that needs much stack on another goroutine: this one's stack would grow, and stay large while the
// stream or wait lasts. It panics with the value that the part panics with.
func Apart(part func()) {
	var p any
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if p = recover(); p != nil && p != http.ErrAbortHandler {
				p = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
		}()
		part()
	}()
	if <-ended; p != nil {
		panic(p)
	}
}

// EndConnection makes net/http's writer end the connection after the answer, whose header may have left. Only a reader that passes its
// limit does that.
func EndConnection(bare http.ResponseWriter) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(bare, io.NopCloser(strings.NewReader("x")), 0))
}

// ErrorBody writes {"code":…,"message":…,"request_id":…}, in this order because some clients match the beginning.
func ErrorBody(code, message, id string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
	}{code, message, id}) // strings always encode
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// RetryAfter is the value of Retry-After, in seconds: never earlier than after, and spread over a further 20 % (at least 1 s, at most
// 60 s), so that clients do not all return together. luck is in [0,1).
func RetryAfter(after time.Duration, luck float64) int {
	spread := min(max(after/5, time.Second), time.Minute)
	return int(math.Ceil(after.Seconds())) + int(luck*(math.Floor(spread.Seconds())+1))
}

// IsStream reports whether an answer is a stream of events, by its header.
func IsStream(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

// InboundNames are the headers of an answer that a team may see. The others name the account or the service's hosts, or
// belong to the connection with the service (cookies, CORS, caching). A replay repeats only ReplayNames; a poll sets its own.
// docs/architecture.md, Adding a header of an answer, lists the places.
var InboundNames = [...]string{"Content-Type", "Retry-After", "X-Request-Id"}

// AnswerNames are the headers of an answer that are read at all.
var AnswerNames = append(InboundNames[:], "Content-Encoding")

// ReplayNames are the headers that a replay repeats, of the service's answer or of Sluice's. Retry-After is not one of them: it
// counts from the first answer.
var ReplayNames = [...]string{"Content-Type", "X-Request-Id", "Sluice-Refusal", "Sluice-Held"}

// Inbound reduces an answer's header to what a team may see, each name with one value.
func Inbound(h http.Header) {
	for name, values := range h {
		if !slices.Contains(InboundNames[:], name) || len(values) == 0 {
			delete(h, name)
			continue
		}
		h[name] = values[:1]
	}
}

// Exposed are the headers that a page in a browser may read. Content-Type and a few more need no mention. Headers of a page that
// Sluice does not know are not sent to the service.
var Exposed = strings.Join([]string{
	"Sluice-Request-Id", "X-Request-Id", "Request-Id", "Sluice-Refusal", "Sluice-Scope", "Sluice-Task", "Sluice-Held", "Sluice-Warning",
	"Sluice-Shadow", "Server-Timing",
	"Preference-Applied", "Retry-After", "RateLimit", "RateLimit-Policy", "Cache-Status", "Age", "Allow", "WWW-Authenticate", "X-Should-Retry",
}, ", ")

// Values makes the values of a header, several with one allocation. net/http and wrappers of an answer may keep them longer than the
// request lasts, so they are not reused. The zero Values is ready for use.
type Values struct{ free []string }

// One returns a list of one value, as a header has it.
func (v *Values) One(value string) []string {
	if len(v.free) == 0 {
		v.free = make([]string, 8) // as many as the answer to a team with limits has
	}
	list := v.free[:1:1]
	list[0], v.free = value, v.free[1:]
	return list
}

// Fields is a header whose values are allocated together.
type Fields struct {
	http.Header
	Room *Values
}

// Put sets a field, whose name MUST be in net/http's canonical form.
func (f Fields) Put(name, value string) { f.Header[name] = f.Room.One(value) }

// Copy copies a field that has exactly one value, by its canonical name. With two values, the reader might take either.
func (f Fields) Copy(from http.Header, name string) {
	if values := from[name]; len(values) == 1 {
		f.Put(name, values[0])
	}
}

// SetLength sets Content-Length if the length is known, so that the answer is framed for the client as the service framed it.
func (v *Values) SetLength(answer *http.Response) {
	if answer.ContentLength >= 0 {
		answer.Header["Content-Length"] = v.One(strconv.FormatInt(answer.ContentLength, 10))
	}
}

// SetRetry tells the client to wait if the service refuses for now and does not say for how long.
func (v *Values) SetRetry(status int, after time.Duration, h http.Header) {
	refuses := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if refuses && h["Retry-After"] == nil {
		h["Retry-After"] = v.One(strconv.Itoa(RetryAfter(after, rand.Float64())))
	}
}

// First is the first value of a field; empty: the field has none.
func First(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
