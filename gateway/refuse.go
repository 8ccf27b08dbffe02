package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/upstream"
)

// reason is one row of the table of refusals: the stage that refuses, why, and the status and code of the answer. The codes
// are the service's own, so that a team's error handling works unchanged.
type reason struct {
	name   string // <stage>/<reason>, the value of Sluice-Refusal
	status int
	code   string
}

// The refusals. testdata/refusals.golden lists them.
var (
	refusePath        = &reason{"route/path", http.StatusNotFound, "NotFound"}
	refuseMethod      = &reason{"route/method", http.StatusMethodNotAllowed, "InvalidParameter"}
	refuseKey         = &reason{"authenticate/key", http.StatusUnauthorized, "InvalidApiKey"}
	refuseTags        = &reason{"authenticate/tags", http.StatusBadRequest, "InvalidParameter"}
	refuseEndpoint    = &reason{"authenticate/endpoint", http.StatusForbidden, "AccessDenied"}
	refuseLarge       = &reason{"inspect/large", http.StatusRequestEntityTooLarge, "BadRequest.TooLarge"}
	refuseMedia       = &reason{"inspect/media", http.StatusUnsupportedMediaType, "InvalidParameter"}
	refuseSlow        = &reason{"inspect/slow", http.StatusRequestTimeout, "RequestTimeOut"}
	refuseBody        = &reason{"inspect/body", http.StatusBadRequest, "InvalidParameter"}
	refuseModel       = &reason{"inspect/model", http.StatusForbidden, "Model.AccessDenied"}
	refuseRules       = &reason{"inspect/rules", http.StatusBadRequest, "InvalidParameter"}
	refuseMemory      = &reason{"throttle/memory", http.StatusServiceUnavailable, "ServiceUnavailable"}
	refuseConcurrent  = &reason{"throttle/concurrent", http.StatusTooManyRequests, "Throttling.RateQuota"}
	refuseBroken      = &reason{"throttle/broken", http.StatusTooManyRequests, "Throttling.RateQuota"}
	refuseNever       = &reason{"admit/never", http.StatusBadRequest, "InvalidParameter"}
	refuseRate        = &reason{"admit/rate", http.StatusTooManyRequests, "Throttling.RateQuota"}
	refuseTasks       = &reason{"admit/open_tasks", http.StatusTooManyRequests, "Throttling.RateQuota"}
	refuseAccount     = &reason{"admit/account", http.StatusTooManyRequests, "Throttling.RateQuota"}
	refuseQuota       = &reason{"admit/quota", http.StatusTooManyRequests, "Throttling.AllocationQuota"}
	refuseState       = &reason{"admit/state", http.StatusServiceUnavailable, "ServiceUnavailable"}
	refuseKeyReuse    = &reason{"admit/idempotency", http.StatusUnprocessableEntity, "InvalidParameter"}
	refuseKeyRuns     = &reason{"admit/idempotency", http.StatusConflict, "InvalidParameter"}
	refuseNoModel     = &reason{"models/unknown", http.StatusNotFound, "model_not_found"}
	refuseTask        = &reason{"recall/task", http.StatusNotFound, "NotFound"}
	refuseWait        = &reason{"recall/wait", http.StatusGatewayTimeout, "RequestTimeOut"}
	refuseClaim       = &reason{"recall/state", http.StatusServiceUnavailable, "ServiceUnavailable"}
	refusePicture     = &reason{"recall/picture", http.StatusBadGateway, "InternalError"}
	refuseUnreachable = &reason{"forward/unreachable", http.StatusBadGateway, "InternalError"}
	refuseOurKey      = &reason{"forward/key", http.StatusBadGateway, "InternalError"}
	refuseAnswer      = &reason{"forward/answer", http.StatusBadGateway, "InternalError"}
	refuseSilent      = &reason{"forward/silent", http.StatusGatewayTimeout, "RequestTimeOut"}
	refuseStopping    = &reason{"serve/stopping", http.StatusServiceUnavailable, "ServiceUnavailable"}
	refusePanic       = &reason{"observe/panic", http.StatusInternalServerError, "InternalError"}
)

// reasons lists every row, in the order of judgement.
var reasons = []*reason{
	refuseStopping, refusePath, refuseMethod, refuseKey, refuseTags, refuseEndpoint, refuseLarge, refuseMedia, refuseBroken, refuseConcurrent, refuseMemory, refuseSlow, refuseBody,
	refuseModel, refuseRules, refuseKeyReuse, refuseKeyRuns, refuseNever, refuseRate, refuseTasks, refuseAccount, refuseQuota, refuseState, refuseNoModel, refuseTask, refuseClaim, refuseWait, refusePicture, refuseUnreachable, refuseOurKey, refuseAnswer, refuseSilent, refusePanic,
}

// refusal is an error with an outside, which the client reads, and an inside, which only the log shows.
type refusal struct {
	*reason
	message string        // the outside: what was given and what is allowed; never a secret
	inside  error         // nil: there is nothing more to know
	header  string        // name of one more header, with its value
	value   string        //
	field   string        // the field of the request that is at fault; empty: none, or unknown
	after   time.Duration // Retry-After on 429 and 503, before jitter
	keeps   bool          // the answer keeps the headers that tell the team's limits
	closes  bool          // the connection ends with the answer: what follows on it cannot be trusted
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

// at names the field of the request that is at fault.
func (r *refusal) at(field string) *refusal { r.field = field; return r }

// retry sets the time after which the same request may pass.
func (r *refusal) retry(after time.Duration) *refusal { r.after = after; return r }

// keepHeaders leaves the headers that tell the team's limits in the answer.
func (r *refusal) keepHeaders() *refusal { r.keeps = true; return r }

// closing ends the connection with the answer.
func (r *refusal) closing() *refusal { r.closes = true; return r }

// brief quotes a client's input for a message, cut to 64 bytes.
func brief(input string) string {
	if len(input) > 64 {
		input = input[:64] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(input, "?"))
}

func (r *refusal) Error() string {
	if r.inside != nil {
		return r.name + ": " + r.inside.Error()
	}
	return r.name
}

func (r *refusal) Unwrap() error { return r.inside }

// asRefusal gives every error a row. An error without one is the gateway's own fault.
func asRefusal(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if failed, ok := errors.AsType[*upstream.Error](err); ok {
		return refuseExchange(failed)
	}
	return refuse(refusePanic).because(err)
}

// refuseExchange says what is known of an exchange that failed.
func refuseExchange(err *upstream.Error) *refusal {
	switch err.Failure {
	case upstream.Unreachable:
		return refuse(refuseUnreachable).say("The service could not be reached; the request was not sent.").because(err)
	case upstream.Silent:
		return refuse(refuseSilent).say("The service did not answer in time; whether it ran the request is unknown.").because(err)
	default:
		return refuse(refuseAnswer).say("The service's answer was lost; whether it ran the request is unknown.").because(err)
	}
}
