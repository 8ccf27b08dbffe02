// Package refusal has the reasons for which a gateway refuses a request, with the status and code of each, and the refusals: errors that
// have a sentence for the client and a cause for the log.
package refusal

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"sluice/gateway/turn"
	"sluice/gateway/upstream"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// Row is one row of the table of refusals: the stage that refuses, why, and the status and code of the answer. The codes
// are the service's own, so that a team's error handling works unchanged.
type Row struct {
	Name   string // <stage>/<reason>, the value of Sluice-Refusal
	Status int
	Code   string
}

// The refusals, in the order of judgement. testdata/refusals.golden lists them.
var (
	Stopping    = row("serve/stopping", http.StatusServiceUnavailable, "ServiceUnavailable")
	Path        = row("route/path", http.StatusNotFound, "NotFound")
	Method      = row("route/method", http.StatusMethodNotAllowed, "InvalidParameter")
	Key         = row("authenticate/key", http.StatusUnauthorized, "InvalidApiKey")
	Tags        = row("authenticate/tags", http.StatusBadRequest, "InvalidParameter")
	Callback    = row("authenticate/callback", http.StatusBadRequest, "InvalidParameter")
	Endpoint    = row("authenticate/endpoint", http.StatusForbidden, "AccessDenied")
	Large       = row("inspect/large", http.StatusRequestEntityTooLarge, "BadRequest.TooLarge")
	Media       = row("inspect/media", http.StatusUnsupportedMediaType, "InvalidParameter")
	Broken      = row("throttle/broken", http.StatusTooManyRequests, "Throttling.RateQuota")
	Concurrent  = row("throttle/concurrent", http.StatusTooManyRequests, "Throttling.RateQuota")
	Memory      = row("throttle/memory", http.StatusServiceUnavailable, "ServiceUnavailable")
	Slow        = row("inspect/slow", http.StatusRequestTimeout, "RequestTimeOut")
	Body        = row("inspect/body", http.StatusBadRequest, "InvalidParameter")
	Model       = row("inspect/model", http.StatusForbidden, "Model.AccessDenied")
	Rules       = row("inspect/rules", http.StatusBadRequest, "InvalidParameter")
	KeyReuse    = row("admit/idempotency", http.StatusUnprocessableEntity, "InvalidParameter")
	KeyRuns     = row("admit/idempotency", http.StatusConflict, "InvalidParameter")
	Never       = row("admit/never", http.StatusBadRequest, "InvalidParameter")
	Rate        = row("admit/rate", http.StatusTooManyRequests, "Throttling.RateQuota")
	Tasks       = row("admit/open_tasks", http.StatusTooManyRequests, "Throttling.RateQuota")
	Account     = row("admit/account", http.StatusTooManyRequests, "Throttling.RateQuota")
	Out         = row("admit/account", http.StatusServiceUnavailable, "ServiceUnavailable")
	Quota       = row("admit/quota", http.StatusTooManyRequests, "Throttling.AllocationQuota")
	House       = row("admit/house", http.StatusTooManyRequests, "Throttling.AllocationQuota")
	State       = row("admit/state", http.StatusServiceUnavailable, "ServiceUnavailable")
	NoModel     = row("models/unknown", http.StatusNotFound, "model_not_found")
	Task        = row("recall/task", http.StatusNotFound, "NotFound")
	Claim       = row("recall/state", http.StatusServiceUnavailable, "ServiceUnavailable")
	Wait        = row("recall/wait", http.StatusGatewayTimeout, "RequestTimeOut")
	Picture     = row("recall/picture", http.StatusBadGateway, "InternalError")
	Unreachable = row("forward/unreachable", http.StatusBadGateway, "InternalError")
	OurKey      = row("forward/key", http.StatusBadGateway, "InternalError")
	Answer      = row("forward/answer", http.StatusBadGateway, "InternalError")
	Silent      = row("forward/silent", http.StatusGatewayTimeout, "RequestTimeOut")
	Panic       = row("observe/panic", http.StatusInternalServerError, "InternalError")
)

// Rows lists every row.
var Rows []*Row

func row(name string, status int, code string) *Row {
	r := &Row{name, status, code}
	Rows = append(Rows, r)
	return r
}

// Refusal is an error with an outside, which the client reads, and an inside, which only the log shows.
type Refusal struct {
	*Row
	Message string          // the outside: what was given and what is allowed; never a secret
	Inside  error           // nil: nothing more is known
	Header  string          // name of one more header, with its value
	Value   string          //
	Limit   telemetry.Limit // the limit that refuses, as it stands; zero: none
	Field   string          // the field of the request that is at fault; empty: none, or unknown
	After   time.Duration   // Retry-After, before jitter; 0: 0 on 429 and 503, else none
	Scarce  []turn.Refusal  // what the request lacks, and whether it may wait for it; nil: waiting does not help
	Keeps   bool            // the answer keeps the headers that report the team's limits
	Closes  bool            // the connection ends with the answer: what follows on it cannot be trusted
}

// New starts a refusal.
func New(row *Row) *Refusal { return &Refusal{Row: row, Message: http.StatusText(row.Status)} }

// Say sets the message for the client.
func (r *Refusal) Say(format string, args ...any) *Refusal {
	r.Message = fmt.Sprintf(format, args...)
	return r
}

// Because sets the inside.
func (r *Refusal) Because(err error) *Refusal { r.Inside = err; return r }

// With adds one header to the answer.
func (r *Refusal) With(name, value string) *Refusal { r.Header, r.Value = name, value; return r }

// Of names the scope of the limit that refuses, in Sluice-Scope.
func (r *Refusal) Of(scope limit.ScopeKind) *Refusal { return r.With("Sluice-Scope", scope.String()) }

// By names the limit that refuses.
func (r *Refusal) By(l telemetry.Limit) *Refusal { r.Limit = l; return r }

// At names the field of the request that is at fault.
func (r *Refusal) At(field string) *Refusal { r.Field = field; return r }

// Retry sets the time after which the same request may pass.
func (r *Refusal) Retry(after time.Duration) *Refusal { r.After = after; return r }

// Waits names what the request lacks and may wait for.
func (r *Refusal) Waits(scarce ...turn.Refusal) *Refusal { r.Scarce = scarce; return r }

// KeepHeaders leaves the headers that report the team's limits in the answer.
func (r *Refusal) KeepHeaders() *Refusal { r.Keeps = true; return r }

// Closing ends the connection with the answer.
func (r *Refusal) Closing() *Refusal { r.Closes = true; return r }

// quoted is a value in a message, which a client may have sent.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// Shown is the message without the values that it quotes, for the log and the console: a value may be a part of a prompt, or a secret.
func (r *Refusal) Shown() string { return quoted.ReplaceAllString(r.Message, `"…"`) }

func (r *Refusal) Error() string {
	if r.Inside != nil {
		return r.Name + ": " + r.Inside.Error()
	}
	return r.Name
}

func (r *Refusal) Unwrap() error { return r.Inside }

// Stopped refuses a request that arrives while the process stops.
func Stopped() error {
	return New(Stopping).Say("This gateway is stopping; send the request again.")
}

// Later refuses what cannot be done at the moment, which the format says, because of err. The client may send the request again soon.
func Later(row *Row, err error, format string, args ...any) *Refusal {
	return New(row).Say(format+" at the moment; send the request again.", args...).Because(err).Retry(time.Second)
}

// As gives every error a row. An error without one is the gateway's own fault.
func As(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	failed, ok := errors.AsType[*upstream.Error](err)
	switch {
	case !ok:
		return New(Panic).Because(err)
	case failed.Failure == upstream.Unreachable:
		return New(Unreachable).Say("%s; the request was not sent.", failed.Unreached()).Because(failed)
	case failed.Failure == upstream.Silent:
		return New(Silent).Say("The service did not answer in time; whether it ran the request is unknown.").Because(failed)
	}
	return New(Answer).Say("The service's answer was lost; whether it ran the request is unknown.").Because(failed)
}
