package why

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/telemetry/recent"
)

// TestEveryRefusalHasAnAnswer: the gateway's refusals, and no others.
func TestEveryRefusalHasAnAnswer(t *testing.T) {
	golden, err := os.ReadFile("../../refusal/testdata/refusals.golden")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(golden)) {
		name := strings.Fields(line)[0]
		listed = append(listed, name)
		row := refusals[name]
		if row.blame == "" || !strings.HasSuffix(row.means, ".") || row.advice == "" {
			t.Errorf("%s: %+v", name, row)
		}
		if want := recent.Failed(name, 502, 0); want != (strings.HasPrefix(name, "forward/")) || want && row.blame != Service {
			t.Errorf("%s is the fault of the %s", name, row.blame)
		}
	}
	for name := range refusals {
		if !slices.Contains(listed, name) {
			t.Errorf("the gateway has no refusal %s", name)
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		request  recent.Request
		sentence string
		blame    Blame
	}{
		{recent.Request{Status: 200}, "It was not refused.", NoBlame},
		{recent.Request{Status: 429, Refusal: "admit/quota", Reason: "Team search has 1 left."}, "Team search has 1 left.", Limit},
		{recent.Request{Status: 429, Refusal: "admit/quota"}, "A quota was used up.", Limit}, // of an older replica
		{recent.Request{Status: 429, Refusal: "admit/later"}, "Sluice refused it.", Gateway},
		{recent.Request{Status: 502, Refusal: "forward/unreachable", Reason: "no route."}, "no route.", Service},
		{recent.Request{Status: 429, Refusal: "admit/account", Reason: "Asked again in 3 s."}, "Asked again in 3 s.", Limit},
		{recent.Request{Status: 503, Refusal: "admit/account", Reason: "The service refuses them."}, "The service refuses them.", Service},
		{recent.Request{Status: 499}, "The client left before the answer was written.", ClientWay},
		{recent.Request{Status: 500, Upstream: 500}, "The service answered 500 itself; Sluice passed it on unchanged.", Service},
		{
			recent.Request{Status: 200, Upstream: 200, Inner: 500, Code: "InternalError"},
			"The service began its answer with status 200 and reported the error 500 InternalError in it.", Service,
		},
		{
			recent.Request{Status: 429, Upstream: 200, Inner: 429, Front: "chat"},
			"The service began its answer with status 200 and reported the error 429 in it.", Request,
		},
		{recent.Request{Status: 500, Upstream: 200}, "The service’s answer says that the work failed; the client got 500.", Service},
		{recent.Request{Status: 400, Upstream: 400}, "The service answered 400 itself; Sluice passed it on unchanged.", Request},
	} {
		if got := Of(&tt.request); got.Sentence != tt.sentence || got.Blame != tt.blame || (got.Advice == "") != (tt.blame == NoBlame) {
			t.Errorf("%+v: %+v", tt.request, got)
		}
	}
}

// TestTheAdviceFitsTheQuota: only quotas of a team can be raised, and each for its own period.
func TestTheAdviceFitsTheQuota(t *testing.T) {
	for _, tt := range []struct{ scope, per, advice, not string }{
		{"team", "day", "for today: sluice raise --for day", ""},
		{"team", "month", "for this month: sluice raise --for month", "today"},
		{"key", "month", "on the key’s page", "raise --for"},
		{"tag", "day", "tag_quotas", "raise --for"},
		{"", "", "ask an operator for more", "raise"}, // of an older replica
	} {
		r := recent.Request{Status: 429, Refusal: "admit/quota"}
		r.Limit.Scope, r.Limit.Per = tt.scope, tt.per
		got := Of(&r).Advice
		if !strings.HasPrefix(got, "Wait until it resets, ask for less, or ") || !strings.Contains(got, tt.advice) ||
			strings.Contains(got, cmp.Or(tt.not, "\x00")) {
			t.Errorf("%s, %s: %s", tt.scope, tt.per, got)
		}
	}
}

// TestOnlyAKeyThatWorksIsAdvised: an Idempotency-Key works for requests that create tasks and for images by OpenAI's interface. Any other
// request whose work may have been done is paid again when it is repeated.
func TestOnlyAKeyThatWorksIsAdvised(t *testing.T) {
	const again, key = " A repetition runs, and is paid, again.", " with the same Idempotency-Key"
	for _, tt := range []struct {
		request recent.Request
		advice  string
	}{
		{recent.Request{Endpoint: "text"}, again},
		{recent.Request{Endpoint: "multimodal", Front: "chat"}, again},
		{recent.Request{Endpoint: "other", Task: "t"}, again},
		{recent.Request{Endpoint: "image"}, key},
		{recent.Request{Endpoint: "multimodal", Front: "images"}, key},
		{recent.Request{Endpoint: "tasks", Method: "GET"}, " A repetition costs nothing."},
		{recent.Request{Front: "messages"}, ""},
	} {
		for _, end := range []recent.Request{
			{Status: 499},
			{Status: 502, Refusal: "forward/answer"}, {Status: 200, Refusal: "forward/answer"}, {Status: 504, Refusal: "forward/silent"},
		} {
			r := &tt.request
			r.Status, r.Refusal = end.Status, end.Refusal
			if got := Of(r).Advice; !strings.Contains(got, tt.advice) || strings.Contains(got, key) != (tt.advice == key) ||
				strings.Contains(got, "repetition") != (tt.advice != "") {
				t.Errorf("%+v: %s", *r, got)
			}
		}
	}
}
