package account_test

import (
	"strings"
	"testing"
	"time"

	"sluice/policy/account"
)

func TestJudge(t *testing.T) {
	whole := func(status int, code string) account.Answer {
		return account.Answer{Sent: true, Complete: true, Status: status, Code: code}
	}
	cut := func(status int, code string) account.Answer {
		return account.Answer{Sent: true, Status: status, Code: code}
	}
	after := func(a account.Answer, wait time.Duration) account.Answer { a.RetryAfter = wait; return a }
	const again = true
	for _, c := range []struct {
		what    string
		answer  account.Answer
		outcome account.Outcome
		wait    time.Duration
		why     string
		another bool
	}{
		{"not a byte was sent", account.Answer{}, account.Unreachable, 0, "unreachable", again},
		{"sent, and silence", account.Answer{Sent: true}, account.Other, 0, "", false},
		{"200", whole(200, ""), account.Worked, 0, "", false},
		{"200, then cut", cut(200, ""), account.Worked, 0, "", false},
		{"200 with an error", whole(200, "InternalError"), account.Other, 0, "", false},

		{"401", whole(401, "InvalidApiKey"), account.Refused, 0, "InvalidApiKey", again},
		{"401 without a code", whole(401, ""), account.Refused, 0, "status 401", again},
		{"401, cut", cut(401, ""), account.Refused, 0, "status 401", false},
		{"arrears", whole(400, "Arrearage"), account.Refused, 0, "Arrearage", again},
		{"arrears, cut", cut(400, "Arrearage"), account.Refused, 0, "Arrearage", false},
		{"arrears under another status", whole(403, "Arrearage"), account.Refused, 0, "Arrearage", again},
		{"not bought", whole(429, "CommodityNotPurchased"), account.Refused, 0, "CommodityNotPurchased", again},
		{"prepaid overdue", whole(429, "PrepaidBillOverdue"), account.Refused, 0, "PrepaidBillOverdue", again},
		{"postpaid overdue", whole(429, "PostpaidBillOverdue"), account.Refused, 0, "PostpaidBillOverdue", again},

		{"throttled", whole(429, "Throttling"), account.Throttled, 0, "Throttling", again},
		{"by rate", whole(429, "Throttling.RateQuota"), account.Throttled, 0, "Throttling.RateQuota", again},
		{"by quota, with a wait", after(whole(429, "Throttling.AllocationQuota"), time.Hour), account.Throttled, time.Hour,
			"Throttling.AllocationQuota", again},
		{"a wait that is over", after(whole(429, "Throttling"), -time.Second), account.Throttled, 0, "Throttling", again},
		{"429 without a code", whole(429, ""), account.Throttled, 0, "status 429", again},
		{"429, cut", cut(429, ""), account.Throttled, 0, "status 429", false},
		{"429 of another kind", whole(429, "Elsewhere"), account.Other, 0, "Elsewhere", again},
		{"a longer word", whole(429, "ThrottlingException"), account.Throttled, 0, "ThrottlingException", again},
		{"not paid, under a status that leaves open what was done", whole(500, "Arrearage"), account.Refused, 0, "Arrearage", false},
		{"throttled under another status", whole(503, "Throttling"), account.Other, 0, "", false},

		{"400", whole(400, "InvalidParameter"), account.Faulted, 0, "", false},
		{"400 without a code", whole(400, ""), account.Faulted, 0, "", false},
		{"400, cut", cut(400, ""), account.Faulted, 0, "", false},
		{"404", whole(404, "ModelNotFound"), account.Other, 0, "", false},
		{"403", whole(403, "AccessDenied"), account.Other, 0, "", false},
		{"500", whole(500, "InternalError"), account.Other, 0, "", false},
		{"500 of a timeout", whole(500, "RequestTimeOut"), account.Other, 0, "", false},
		{"503", whole(503, "ModelUnavailable"), account.Other, 0, "", false},
		{"503 with a wait", after(whole(503, "ModelUnavailable"), time.Second), account.Other, 0, "", false},

		{"a code that is no word", whole(401, "sk-secret key"), account.Refused, 0, "status 401", again},
		{"a long code", whole(401, strings.Repeat("a", 65)), account.Refused, 0, "status 401", again},
	} {
		t.Run(c.what, func(t *testing.T) {
			want := account.Verdict{Outcome: c.outcome, Wait: c.wait, Why: c.why, Another: c.another}
			if got := account.Judge(c.answer); got != want {
				t.Errorf("the verdict is %+v, want %+v", got, want)
			}
		})
	}
}

// Another account is tried only after the answers that certainly did no work, whatever else an answer says.
func TestWorkIsNeverDoneTwice(t *testing.T) {
	codes := []string{"", "InternalError", "InternalError.Timeout", "SystemError", "RequestTimeOut", "ModelUnavailable", "Throttling",
		"InvalidApiKey"}
	for status := range 600 {
		for _, code := range codes {
			for _, complete := range []bool{false, true} {
				v := account.Judge(account.Answer{Sent: true, Complete: complete, Status: status, Code: code, RetryAfter: time.Second})
				if may := complete && (status == 401 || status == 429); v.Another != may {
					t.Errorf("status %d, code %q, complete %v: another may be tried is %v", status, code, complete, v.Another)
				}
			}
		}
	}
}

// A client comes back in a moment, unless only a payment or the reset of a quota helps.
func TestPatience(t *testing.T) {
	for code, want := range map[string]time.Duration{
		"": time.Second, "Throttling": time.Second, "Throttling.RateQuota": time.Second, "ServiceUnavailable": time.Second,
		"Throttling.AllocationQuota": 5 * time.Minute, "Arrearage": 5 * time.Minute, "PostpaidBillOverdue": 5 * time.Minute,
	} {
		if got := account.Patience(code); got != want {
			t.Errorf("%q: %v, want %v", code, got, want)
		}
	}
}
