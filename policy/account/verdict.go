package account

import (
	"strconv"
	"strings"
	"time"
)

// Answer is what became of a request, as far as it says something about the account.
type Answer struct {
	// Sent: at least a byte of the request may have reached the service.
	Sent bool
	// Complete: the answer has arrived as a whole. A stream's frame that refuses is whole if no other frame came before it.
	Complete bool
	// Status is the answer's, or that of the error in a stream's first frame. 0: no answer.
	Status int
	// Code is the service's error code. Empty: none, or unknown.
	Code string
	// RetryAfter is what the answer asks for. 0: it does not say.
	RetryAfter time.Duration
}

// Outcome is what an answer says about the account.
type Outcome string

// The outcomes. The reasons of failovers in metrics are those for which another account may be tried.
const (
	Worked      Outcome = "worked"      // the account does work
	Throttled   Outcome = "throttled"   // it is to be asked later
	Refused     Outcome = "refused"     // its key is refused, or it does not pay
	Unreachable Outcome = "unreachable" // the service did not get the request
	Faulted     Outcome = "faulted"     // the request is the client's fault: the key is good, and of bills and rates nothing is shown
	Other       Outcome = "other"       // the service failed, or the answer says nothing of the account
)

// Verdict is what follows from an answer.
type Verdict struct {
	Outcome Outcome
	Wait    time.Duration // that the service asks for; 0: it does not say. Only if Throttled
	Why     string        // the service's code or the status, for the log; empty if nothing is to be said
	Another bool          // another account may be tried: this one has certainly done no work
}

// billing are the service's codes for an account that does not pay. Every request fails until the operator acts.
var billing = map[string]bool{"Arrearage": true, "CommodityNotPurchased": true, "PrepaidBillOverdue": true, "PostpaidBillOverdue": true}

// Unpaid reports whether the service's error code means that its account does not pay.
func Unpaid(code string) bool { return billing[code] }

// throttling begins the service's codes for rates and quotas.
const throttling = "Throttling"

// Judge reads an answer. Another account may be tried only where this one has certainly done no work: not a byte was sent, or a complete
// answer refused the key, the bill or the rate. After a 5xx, a timeout or a cut it may have run the request, and may bill it.
func Judge(a Answer) Verdict {
	switch {
	case !a.Sent:
		return Verdict{Outcome: Unreachable, Why: string(Unreachable), Another: true}
	case a.Status == 401, Unpaid(a.Code) && a.Status >= 400:
		return Verdict{Outcome: Refused, Why: a.why(), Another: a.Complete && a.Status < 500}
	case a.Status == 429 && (a.Code == "" || strings.HasPrefix(a.Code, throttling)):
		return Verdict{Outcome: Throttled, Wait: max(a.RetryAfter, 0), Why: a.why(), Another: a.Complete}
	case a.Status == 429:
		return Verdict{Outcome: Other, Why: a.why(), Another: a.Complete}
	case a.Status == 400:
		return Verdict{Outcome: Faulted}
	case a.Status >= 200 && a.Status < 300 && a.Code == "":
		return Verdict{Outcome: Worked}
	}
	return Verdict{Outcome: Other}
}

// why is the answer's code if it is a word, else its status. What has another form may be anything.
func (a Answer) why() string {
	for _, r := range a.Code {
		if len(a.Code) > 64 || r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return "status " + strconv.Itoa(a.Status)
		}
	}
	if a.Code == "" {
		return "status " + strconv.Itoa(a.Status)
	}
	return a.Code
}
