package accounts

import (
	"net/http"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/telemetry/meter"
)

// AnswerOf is what became of an exchange that has ended, with the status and the wait that its answer's header has. An error frame that is
// the first event of a stream counts as its status. Where only the end of the connection ends the answer, it is complete if its text is: it
// may have been cut.
func AnswerOf(x *upstream.Exchange, read *meter.Reading, status int, wait time.Duration) account.Answer {
	a := account.Answer{Sent: x.Reached, Complete: x.Clean || x.Whole && read.Complete, Status: status, Code: read.ErrorCode, RetryAfter: wait}
	if status < http.StatusBadRequest && refusesOnly(read) {
		a.Status = read.ErrorStatus
	}
	return a
}

// MayRefuse reports whether the beginning of a stream may be an error for which another account may be tried, and nothing else. What has no
// data, such as a comment that keeps the connection alive, is no event and decides nothing. open: the last event has not ended.
func MayRefuse(read *meter.Reading, open bool) bool {
	switch {
	case read.Opaque:
		return false
	case read.Frames == 0:
		return true
	case !refusesOnly(read):
		return false
	}
	return open || account.Judge(account.Answer{Sent: true, Complete: true, Status: read.ErrorStatus, Code: read.ErrorCode}).Another
}

// refusesOnly reports whether a stream is one error frame so far. A frame before it, even an empty one, shows that the work had begun.
func refusesOnly(read *meter.Reading) bool {
	return read.Failed && !read.Content && read.Frames == 1 && read.TaskID == ""
}
