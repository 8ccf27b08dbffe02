package account

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Answer is the outcome of a request, as far as it says something about the account.
type Answer struct {
	// Sent: at least a byte of the request may have reached the service.
	Sent bool
	// Complete: the whole answer has arrived. A refusing frame of a stream counts as complete if no other frame came before it.
	Complete bool
	// Status is the answer's, or that of the error in a stream's first frame. 0: no answer.
	Status int
	// Code is the service's error code. Empty: none, or unknown.
	Code string
	// RetryAfter is the wait that the answer asks for. 0: none.
	RetryAfter time.Duration
}

// Outcome is what an answer says about the account.
type Outcome string

// The outcomes. The reasons of failovers in metrics are those for which another account may be tried.
const (
	Worked      Outcome = "worked"      // the account does work
	Throttled   Outcome = "throttled"   // it should get requests again only later
	Refused     Outcome = "refused"     // its key is refused, or it does not pay
	Unreachable Outcome = "unreachable" // the service did not get the request
	Faulted     Outcome = "faulted"     // the request is the client's fault: the key is valid, and nothing is known of payment and rates
	Other       Outcome = "other"       // the service failed, or the answer says nothing about the account
)

// Verdict is what follows from an answer.
type Verdict struct {
	Outcome Outcome
	Wait    time.Duration // that the service asks for; 0: none. Only if Throttled
	Why     string        // the service's code or the status, for the log; empty: nothing to log
	Another bool          // another account may be tried: this one has certainly done no work
}

// billing are the service's codes for an account that does not pay. Every request fails until the operator acts.
var billing = map[string]bool{"Arrearage": true, "CommodityNotPurchased": true, "PrepaidBillOverdue": true, "PostpaidBillOverdue": true}

// UnpaidCodes are the service's codes for an account that does not pay, in no particular order.
func UnpaidCodes() []string { return slices.Collect(maps.Keys(billing)) }

// Unpaid reports whether the service's error code means that its account does not pay.
func Unpaid(code string) bool { return billing[code] }

// throttling is the prefix of the service's codes for rates and quotas.
const throttling = "Throttling"

// longWait is how long a client waits for a payment or for a quota of the service, whose reset it does not name.
const longWait = 5 * time.Minute

// Patience is how long a client should wait after a refusal with this code that does not say: a moment, unless only a payment or the reset
// of a quota helps.
func Patience(code string) time.Duration {
	if Unpaid(code) || code == throttling+".AllocationQuota" {
		return longWait
	}
	return time.Second
}

// Judge reads an answer. Another account may be tried only if this one has certainly done no work: not a byte was
// sent, or a complete answer refused the key, the payment or the rate. After a 5xx, a timeout or a cut the account may
// have run the request, and may bill it.
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

// why is the answer's code if it is a word, else its status: a code of another form may contain anything.
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
