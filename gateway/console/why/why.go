// Package why explains why a request ended as it did, whose fault that is, and what its client can do.
//
// It uses only the refusal's name and the request's line. It decides nothing.
package why

import (
	"fmt"
	"net/http"

	"sluice/telemetry/recent"
)

// Blame is the side that caused the end of a request.
type Blame string

// The sides. A broken connection of a client is on the client’s side.
const (
	NoBlame   Blame = ""        // the request was answered
	Request   Blame = "request" // the request itself is faulty, or may not be made
	Limit     Blame = "limit"   // a limit of the team, its key, its tag, the house or an account
	Service   Blame = "service" // the service, or the way to it
	Gateway   Blame = "gateway" // Sluice itself, or its Redis
	ClientWay Blame = "client"  // the client left, or its connection broke
)

// Words returns a sentence about the side. It is empty for NoBlame.
func (b Blame) Words() string {
	return map[Blame]string{
		Request: "The request is at fault.", Limit: "A limit refused it.", Service: "The service, or the way to it, failed.",
		Gateway: "The gateway could not take it.", ClientWay: "The client’s side ended it.",
	}[b]
}

// Answer is why a request ended as it did.
type Answer struct {
	Sentence string `json:"sentence"` // the message that the client got; if that is not known, the meaning of the refusal
	Blame    Blame  `json:"blame"`
	Advice   string `json:"advice"` // what the client can do; empty: nothing is wrong
}

// Of returns why a request ended as it did.
func Of(r *recent.Request) Answer {
	row, known := refusals[r.Refusal]
	switch {
	case r.Refusal != "" && !known: // perhaps of a later version
		row = refusal{Gateway, "Sluice refused it.", "Give the request's id to the gateway's operators."}
	case r.Refusal == "admit/account" && r.Status == http.StatusServiceUnavailable:
		row = allOut
	case r.Refusal != "":
	case r.Status == statusClientLeft:
		return Answer{"The client left before the answer was written.", ClientWay, "Look at the client's own timeout." + repetition(r)}
	case max(r.Status, r.Inner) >= http.StatusInternalServerError:
		return Answer{answered(r), Service, "Send the request again later. If it goes on, tell the service the id of its answer."}
	case max(r.Status, r.Inner) >= http.StatusBadRequest:
		return Answer{answered(r), Request, "The body of the answer says what the service objects to."}
	default:
		return Answer{Sentence: "It was not refused."}
	}
	a := Answer{r.Reason, row.blame, row.advice}
	switch r.Refusal {
	case "forward/answer", "forward/silent":
		a.Advice += repetition(r)
	case "admit/quota":
		a.Advice = "Wait until it resets, ask for less, or " + more(r.Limit.Scope, r.Limit.Per)
	}
	if a.Sentence == "" {
		a.Sentence = row.means
	}
	return a
}

// repetition says what happens if the client sends a request again whose work the service may have done.
func repetition(r *recent.Request) string {
	switch {
	case r.Endpoint == "": // nothing can have run
		return ""
	case r.Endpoint == "tasks":
		return " A repetition costs nothing."
	case r.Endpoint == "image" || r.Front == "images":
		return " A repetition with the same Idempotency-Key gets the first outcome; without a key it may run, and be paid, again."
	}
	return " A repetition runs, and is paid, again."
}

// answered says with what the service answered a request that failed and that Sluice did not refuse.
func answered(r *recent.Request) string {
	code := ""
	if r.Code != "" {
		code = " " + r.Code
	}
	switch {
	case r.Inner != 0:
		return fmt.Sprintf("The service began its answer with status %d and reported the error %d%s in it.", r.Upstream, r.Inner, code)
	case r.Status != r.Upstream:
		return fmt.Sprintf("The service’s answer says that the work failed%s; the client got %d.", code, r.Status)
	}
	return fmt.Sprintf("The service answered %d itself; Sluice passed it on unchanged.", r.Status)
}

// more says how a quota that was used up can be made larger: only a team's can be raised for a while.
func more(scope, period string) string {
	switch {
	case scope == "key":
		return "have the quota changed on the key’s page or in the teams file; quotas of keys cannot be raised for a while."
	case scope == "tag":
		return "have tag_quotas of the team changed; they cannot be raised for a while."
	case scope == "team" && period == "month":
		return "have an operator raise it for this month: sluice raise --for month."
	case scope == "team":
		return "have an operator raise it for today: sluice raise --for day."
	}
	return "ask an operator for more."
}

// statusClientLeft is the status of a request whose client left before the answer.
const statusClientLeft = 499

// refusal has the answer for every request with the refusal.
type refusal struct {
	blame  Blame
	means  string // the sentence, if the message is not known
	advice string
}

// allOut is admit/account with status 503; with 429 it is a limit.
var allOut = refusal{
	Service, "The service refuses all work of the accounts.",
	"The client can do nothing about it. Operators: look at Accounts for the reason.",
}

// refusals are the refusals of package gateway; a test compares the two.
var refusals = map[string]refusal{
	"serve/stopping": {Gateway, "The gateway was stopping.", "Send the request again: another replica takes it."},
	"route/path": {
		Request, "There is no such path.",
		"Look at the base address of the client: it ends in /api/v1, or in /v1 for OpenAI’s interface.",
	},
	"route/method": {Request, "The path does not accept this method.", "Look at the header Allow of the answer."},
	"authenticate/key": {
		Request, "No team has this key, or it has ended or was disabled.",
		"Look at the team’s keys; make a new one, or enable it.",
	},
	"authenticate/tags": {Request, "The header Sluice-Tag is not valid.", "Send at most four pairs such as project=alpha."},
	"authenticate/callback": {
		Request, "The header Sluice-Callback is not valid.",
		"Send the id of one of the team’s hooks and a path, such as jobs/shots/42.",
	},
	"authenticate/endpoint": {
		Request, "The team may not use this endpoint.",
		"Use one that the team has, or have an operator add it to the team’s endpoints.",
	},
	"inspect/large": {
		Request, "The body is larger than the gateway accepts.",
		"Send less, or addresses of pictures in place of their bytes.",
	},
	"inspect/media": {Request, "The body’s media type or encoding is not accepted.", "Send JSON in UTF-8, uncompressed."},
	"inspect/slow":  {ClientWay, "The body did not arrive in time.", "Look at the client’s connection; send a smaller body."},
	"inspect/body":  {Request, "The body is not one strict JSON object.", "Mend the body at the place that the message names."},
	"inspect/model": {
		Request, "The team, or the key, may not use this model.",
		"Use a model of the list at /sluice/v1/usage, or have an operator add it.",
	},
	"inspect/rules": {
		Request, "The request breaks rules of the service.",
		"Mend the fields that the message names. A rule’s mode can be set to warn or off for the team.",
	},
	"throttle/broken": {
		Limit, "The key sent too many broken requests.",
		"Mend the client: every request in this second would be refused.",
	},
	"throttle/concurrent": {
		Limit, "Too many requests of the team, or the key, were in flight.",
		"Send again when one has ended, send fewer at once, or wait in turn with Prefer: wait=10.",
	},
	"throttle/memory": {
		Gateway, "The gateway had no memory for the body.",
		"Send the request again after Retry-After. Operators: SLUICE_BODY_BUDGET.",
	},
	"admit/idempotency": {
		Request, "The Idempotency-Key is in use: for another body, or by a request that still runs.",
		"Use a new key for a new request; wait for the first attempt.",
	},
	"admit/never": {
		Limit, "The request asks for more than the limit ever lets pass.",
		"Ask for less, or have the limit raised: waiting does not help.",
	},
	"admit/rate": {Limit, "A rate was used up.", "Send again after Retry-After, send more evenly, or wait in turn with Prefer: " +
		"wait=10."},
	"admit/open_tasks": {Limit, "Too many tasks of the team were open.", "Wait for a task to end, cancel one, or have the limit raised."},
	"admit/account":    {Limit, "The accounts at the service had no room.", "Send again after Retry-After. Operators: look at Accounts."},
	"admit/quota":      {Limit, "A quota was used up.", "Wait until it resets, or ask for less."},
	"admit/house": {
		Limit, "A quota of all teams together was used up.",
		"Wait until it resets, or have an operator raise the house’s quota.",
	},
	"admit/state": {
		Gateway, "It was not known what the team has left, because Redis was away.",
		"Send the request again after Retry-After. Operators: look at /readyz?verbose.",
	},
	"models/unknown": {Request, "There is no such model for this team.", "Use a model of the list at /v1/models."},
	"recall/task": {
		Request, "The team has no such task, or it is older than a day.",
		"Look at the task’s id and at the key: the task belongs to the team that made it.",
	},
	"recall/state": {
		Gateway, "The task’s state could not be read, because Redis was away.",
		"Poll again after Retry-After. The task runs on.",
	},
	"recall/wait": {Service, "The task did not end while its client waited.", "Poll the task: it runs on, and its pictures are kept."},
	"recall/picture": {
		Service, "A picture could not be fetched from the service.",
		"Fetch it from its address, or ask for addresses in place of bytes.",
	},
	"forward/unreachable": {
		Service, "The service could not be reached; the request was not sent.",
		"Send the request again. Operators: look at the way to the service.",
	},
	"forward/key": {
		Service, "The service refused the gateway’s own key.",
		"The client can do nothing about it. Operators: look at SLUICE_UPSTREAM_KEY and at Accounts.",
	},
	"forward/answer": {
		Service, "The service’s answer was lost or cannot be used.",
		"Whether the service did the work is unknown.",
	},
	"forward/silent": {
		Service, "The service did not answer in time.",
		"Whether the service did the work is unknown.",
	},
	"observe/panic": {Gateway, "The gateway failed.", "Give the request’s id to the gateway’s operators: their log has the cause."},
}
