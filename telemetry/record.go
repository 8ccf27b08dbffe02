// Package telemetry reports what requests did: one line in the log for each, metrics, and spans.
//
// It only observes: nothing here refuses, delays or changes a request or an answer, and no other package waits for it. It
// knows neither teams' limits nor tasks' claims.
//
// It promises that a Record is written once, that a slow or blocked output never delays a request (records over the
// bound are dropped and counted), and that what it writes contains no prompt, body, key or query string.
package telemetry

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sluice/policy/unit"
	"sluice/telemetry/meter"
)

// Record holds the facts about one request: the members of its log line, one field each. The gateway fills it while the request
// runs and hands it over once, at the end. The zero value of a field means "not known".
type Record struct {
	Time           time.Time     // when the request arrived
	ID             string        // Sluice's request id, a lower-case UUID
	UpstreamID     string        // the service's X-Request-Id
	TraceID        string        // 32 hex digits; empty if no span is recorded
	Team           string        // id of the team whose key was presented
	Key            string        // public id of that key
	Client         string        // address of the client without a port; behind trusted proxies, the address they report
	Method         string        // of the request
	Route          string        // the path's template; empty: unknown path
	Endpoint       string        // text, multimodal, image, tasks, embeddings, other
	Kind           string        // what the request asked for; see package policy
	Model          string        // as the request named it
	Task           string        // task id, for requests that create or query one
	Status         int           // HTTP status sent to the client; 499 when the client left first
	Refusal        string        // <stage>/<reason> when Sluice refused
	Reason         string        // the message with which Sluice refused; empty is left out of the line
	Limit          Limit         // the limit that refused, as it stood then; zero: none, and left out of the line
	Cache          string        // hit, miss, collapsed or stale, for polls
	Usage          meter.Usage   // the usage that the answer reports
	Cost           Cost          // what was charged
	Held           Cost          // what was held at admission
	Duration       time.Duration // from arrival to the end of the handler
	Overhead       time.Duration // the part of Duration spent neither on the service, nor on the client's connection, nor in the queue
	Service        time.Duration // the part of Duration spent waiting for the service, until the last byte of its answer; not in the line
	Queued         time.Duration // the part of Duration in the queue
	FirstByte      time.Duration // from arrival to the first byte handed to the client
	BytesIn        int64         // bytes of the request body that were read
	BytesOut       int64         // bytes of the response body
	UpstreamStatus int           // HTTP status of the service's answer; 0 if it was not asked or did not answer
	UpstreamError  int           // HTTP status of an error inside an answer with another; 0 is left out of the line
	UpstreamCode   string        // the code of the service's error; empty is left out of the line
	Account        string        // the account at the service that was asked last; without an accounts file empty and left out of the line
	Tags           string        // such as project=alpha,user=42; empty is left out of the line
	Front          string        // openai if the client spoke OpenAI's interface; empty is left out of the line
	TaskStatus     string        // the final state of a task, for the poll that saw it; empty is left out of the line

	// Only for metrics, spans and counts.

	Scheme string            // http or https
	Label  string            // the model, from a closed set
	Broken []BrokenRule      // the rules that the request breaks; nil: none
	Span   Span              // the request's; zero: no span
	client trace.SpanContext // the span that the client names as the parent
}

// BrokenRule is a rule that a request breaks.
type BrokenRule struct {
	ID      string // from a closed set
	Refused bool   // the rule refused the request; false: the client was warned
}

// Read takes what the service's answer reports, with the secrets in it covered by cover. A code that is no word is left out, because an
// answer of another form may have anything in its place.
func (r *Record) Read(answer *meter.Reading, cover func(text string) string) {
	answer.Usage.Cover(cover)
	r.Usage, r.UpstreamCode, r.UpstreamError = answer.Usage, "", 0
	if isWord(answer.ErrorCode) {
		r.UpstreamCode = cover(answer.ErrorCode)
	}
	if r.UpstreamStatus < http.StatusBadRequest {
		r.UpstreamError = answer.InnerStatus()
	}
}

// isWord reports whether a code is one word, as the service's are, such as InvalidParameter.DataInspection.
func isWord(code string) bool {
	return len(code) <= longestCode && !strings.ContainsFunc(code, func(c rune) bool {
		return c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// longestCode bounds the codes of the service in the log.
const longestCode = 64

// Cost is an amount of each unit that teams are limited in: what was held for a request, or what it was charged. The zero value
// means "not known". A refused request has a known cost of zero.
type Cost struct {
	Known   bool         // false: the log line has null
	Amounts unit.Amounts // the log line writes money in the currency
	Money   unit.Money   // the currency of Amounts
	Flag    string       // the origin of the amount, one of the flags; "" is left out of the log line
}

// The origins of an amount: the flags of a cost.
const (
	FlagExact     = "exact"
	FlagEstimated = "estimated"
	FlagRefused   = "refused"  // the service refused the request
	FlagNotSent   = "not-sent" // no byte of the request left
	FlagTask      = "task"     // a task runs; its end is charged
	FlagUnknown   = "unknown"  // whether the service did the work is unknown
)

// Settled returns the data of the event of a settled request, a JSON object: time and the members of its log line, as far as they are
// known by then. It does not change the record.
func (r *Record) Settled() []byte {
	own := *r
	own.clean()
	b := own.Time.UTC().AppendFormat(append(make([]byte, 0, 1024), `{"time":"`...), time.RFC3339Nano)
	return append(appendMembers(append(b, '"'), &own), '}')
}

// Ending returns the data of the event of the task's end without its results, a JSON object. Usage and cost are as in its log line.
func (t *Task) Ending() []byte {
	b := append(make([]byte, 0, 512), '{')
	for _, m := range [...]struct{ name, text string }{
		{"task_id", t.ID},
		{"request_id", t.Request},
		{"model", shorten(t.Model)},
		{"outcome", t.Outcome},
	} {
		b = appendQuoted(appendName(b, m.name), m.text)
	}
	b = strconv.AppendInt(appendName(b, "images"), t.Images, 10)
	b = appendUsage(appendName(b, "usage"), &t.Usage)
	b = appendCost(appendName(b, "cost"), &t.Cost)
	b = appendTime(appendName(b, "submit_time"), t.Submitted)
	return append(appendTime(appendName(b, "end_time"), t.Ended), '}')
}

func appendTime(b []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(b, `"2006-01-02T15:04:05.000Z"`)
}
