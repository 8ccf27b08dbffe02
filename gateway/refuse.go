package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sluice/gateway/turn"
	"sluice/gateway/upstream"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// reason is one row of the table of refusals: the stage that refuses, why, and the status and code of the answer. The codes
// are the service's own, so that a team's error handling works unchanged.
type reason struct {
	name   string // <stage>/<reason>, the value of Sluice-Refusal
	status int
	code   string
}

// The refusals, in the order of judgement. testdata/refusals.golden lists them.
var (
	refuseStopping    = row("serve/stopping", http.StatusServiceUnavailable, "ServiceUnavailable")
	refusePath        = row("route/path", http.StatusNotFound, "NotFound")
	refuseMethod      = row("route/method", http.StatusMethodNotAllowed, "InvalidParameter")
	refuseKey         = row("authenticate/key", http.StatusUnauthorized, "InvalidApiKey")
	refuseTags        = row("authenticate/tags", http.StatusBadRequest, "InvalidParameter")
	refuseCallback    = row("authenticate/callback", http.StatusBadRequest, "InvalidParameter")
	refuseEndpoint    = row("authenticate/endpoint", http.StatusForbidden, "AccessDenied")
	refuseLarge       = row("inspect/large", http.StatusRequestEntityTooLarge, "BadRequest.TooLarge")
	refuseMedia       = row("inspect/media", http.StatusUnsupportedMediaType, "InvalidParameter")
	refuseBroken      = row("throttle/broken", http.StatusTooManyRequests, "Throttling.RateQuota")
	refuseConcurrent  = row("throttle/concurrent", http.StatusTooManyRequests, "Throttling.RateQuota")
	refuseMemory      = row("throttle/memory", http.StatusServiceUnavailable, "ServiceUnavailable")
	refuseSlow        = row("inspect/slow", http.StatusRequestTimeout, "RequestTimeOut")
	refuseBody        = row("inspect/body", http.StatusBadRequest, "InvalidParameter")
	refuseModel       = row("inspect/model", http.StatusForbidden, "Model.AccessDenied")
	refuseRules       = row("inspect/rules", http.StatusBadRequest, "InvalidParameter")
	refuseKeyReuse    = row("admit/idempotency", http.StatusUnprocessableEntity, "InvalidParameter")
	refuseKeyRuns     = row("admit/idempotency", http.StatusConflict, "InvalidParameter")
	refuseNever       = row("admit/never", http.StatusBadRequest, "InvalidParameter")
	refuseRate        = row("admit/rate", http.StatusTooManyRequests, "Throttling.RateQuota")
	refuseTasks       = row("admit/open_tasks", http.StatusTooManyRequests, "Throttling.RateQuota")
	refuseAccount     = row("admit/account", http.StatusTooManyRequests, "Throttling.RateQuota")
	refuseOut         = row("admit/account", http.StatusServiceUnavailable, "ServiceUnavailable")
	refuseQuota       = row("admit/quota", http.StatusTooManyRequests, "Throttling.AllocationQuota")
	refuseHouse       = row("admit/house", http.StatusTooManyRequests, "Throttling.AllocationQuota")
	refuseState       = row("admit/state", http.StatusServiceUnavailable, "ServiceUnavailable")
	refuseNoModel     = row("models/unknown", http.StatusNotFound, "model_not_found")
	refuseTask        = row("recall/task", http.StatusNotFound, "NotFound")
	refuseClaim       = row("recall/state", http.StatusServiceUnavailable, "ServiceUnavailable")
	refuseWait        = row("recall/wait", http.StatusGatewayTimeout, "RequestTimeOut")
	refusePicture     = row("recall/picture", http.StatusBadGateway, "InternalError")
	refuseUnreachable = row("forward/unreachable", http.StatusBadGateway, "InternalError")
	refuseOurKey      = row("forward/key", http.StatusBadGateway, "InternalError")
	refuseAnswer      = row("forward/answer", http.StatusBadGateway, "InternalError")
	refuseSilent      = row("forward/silent", http.StatusGatewayTimeout, "RequestTimeOut")
	refusePanic       = row("observe/panic", http.StatusInternalServerError, "InternalError")
)

// reasons lists every row.
var reasons []*reason

func row(name string, status int, code string) *reason {
	r := &reason{name, status, code}
	reasons = append(reasons, r)
	return r
}

// refusal is an error with an outside, which the client reads, and an inside, which only the log shows.
type refusal struct {
	*reason
	message string          // the outside: what was given and what is allowed; never a secret
	inside  error           // nil: nothing more is known
	header  string          // name of one more header, with its value
	value   string          //
	limit   telemetry.Limit // that refuses, as it stands; zero: none
	field   string          // the field of the request that is at fault; empty: none, or unknown
	after   time.Duration   // Retry-After, before jitter; 0: 0 on 429 and 503, else none
	scarce  []turn.Refusal  // what stands in the request's way, and whether it may wait for that; nil: time alone does not help
	keeps   bool            // the answer keeps the headers that report the team's limits
	closes  bool            // the connection ends with the answer: what follows on it cannot be trusted
}

// refuse starts a refusal.
func refuse(row *reason) *refusal { return &refusal{reason: row, message: http.StatusText(row.status)} }

// say sets the message for the client.
func (r *refusal) say(format string, args ...any) *refusal {
	r.message = fmt.Sprintf(format, args...)
	return r
}

// because sets the inside.
func (r *refusal) because(err error) *refusal { r.inside = err; return r }

// with adds one header to the answer.
func (r *refusal) with(name, value string) *refusal { r.header, r.value = name, value; return r }

// of names in Sluice-Scope whose limit refuses.
func (r *refusal) of(scope limit.ScopeKind) *refusal { return r.with("Sluice-Scope", scope.String()) }

// by names the limit that refuses.
func (r *refusal) by(l telemetry.Limit) *refusal { r.limit = l; return r }

// at names the field of the request that is at fault.
func (r *refusal) at(field string) *refusal { r.field = field; return r }

// retry sets the time after which the same request may pass.
func (r *refusal) retry(after time.Duration) *refusal { r.after = after; return r }

// waits names what stands in the request's way that it may wait for.
func (r *refusal) waits(scarce ...turn.Refusal) *refusal { r.scarce = scarce; return r }

// keepHeaders leaves the headers that report the team's limits in the answer.
func (r *refusal) keepHeaders() *refusal { r.keeps = true; return r }

// closing ends the connection with the answer.
func (r *refusal) closing() *refusal { r.closes = true; return r }

func (r *refusal) Error() string {
	if r.inside != nil {
		return r.name + ": " + r.inside.Error()
	}
	return r.name
}

func (r *refusal) Unwrap() error { return r.inside }

func refuseStopped() error {
	return refuse(refuseStopping).say("This gateway is stopping; send the request again.")
}

// asRefusal gives every error a row. An error without one is the gateway's own fault.
func asRefusal(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	failed, ok := errors.AsType[*upstream.Error](err)
	switch {
	case !ok:
		return refuse(refusePanic).because(err)
	case failed.Failure == upstream.Unreachable:
		return refuse(refuseUnreachable).say("%s; the request was not sent.", failed.Unreached()).because(failed)
	case failed.Failure == upstream.Silent:
		return refuse(refuseSilent).say("The service did not answer in time; whether it ran the request is unknown.").because(failed)
	}
	return refuse(refuseAnswer).say("The service's answer was lost; whether it ran the request is unknown.").because(failed)
}
