package hooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"sluice/policy/event"
)

// members are the members of an event's data that sentences use.
type members struct {
	Account string `json:"account"`
	Cost    struct {
		Spend json.Number `json:"spend"`
	} `json:"cost"`
	Expires   string      `json:"expires"`
	Fault     string      `json:"fault"`
	ID        string      `json:"id"`
	Images    json.Number `json:"images"`
	Key       string      `json:"key"`
	Limit     json.Number `json:"limit"`
	Model     string      `json:"model"`
	Outcome   string      `json:"outcome"`
	Period    string      `json:"period"`
	Reason    string      `json:"reason"`
	Scope     string      `json:"scope"`
	Since     string      `json:"since"`
	Source    string      `json:"source"`
	TaskID    string      `json:"task_id"`
	Threshold json.Number `json:"threshold"`
	Unit      string      `json:"unit"`
	Used      json.Number `json:"used"`
}

// Sentence is an event in words, in one line: for Slack, and for receivers that take the same. What an event lacks is left out.
func Sentence(e *event.Event) string {
	var d members
	_ = json.Unmarshal(e.Data, &d) // a member of another kind is left out
	return escaped.Replace(strings.Join(strings.Fields(sentence(e, &d)), " "))
}

// escaped keeps texts from mentioning people and from being links.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func sentence(e *event.Event, d *members) string {
	team := "Team " + e.Team
	switch e.Type {
	case event.TaskSucceeded, event.TaskFailed, event.TaskCancelled, event.TaskUnheard, event.TaskStored:
		return team + ": task " + d.TaskID + part(" of ", d.Model) + " " + ends[e.Type] + part(", images ", string(d.Images)) +
			part(", cost ", string(d.Cost.Spend))
	case event.QuotaReached:
		return fmt.Sprintf("%s: %s per cent of the quota of %s per %s is used%s", whoseQuota(e, d), cmp.Or(d.Threshold.String(), "some"), d.Unit,
			d.Period, usedOf(d))
	case event.RequestSettled:
		return team + ": a request" + part(" of ", d.Model) + " was settled" + part(", cost ", string(d.Cost.Spend))
	case event.RateStarved:
		return team + ": more than half of the requests were refused for 5 minutes" + part(", most often ", d.Reason)
	case event.KeyExpiring:
		return team + ": key " + d.Key + " expires" + part(" at ", d.Expires)
	case event.AccountOut:
		return "Account " + d.Account + " at the service is out" + part(" since ", d.Since) + part(": ", d.Reason)
	case event.AccountBack:
		return "Account " + d.Account + " at the service is back"
	case event.TeamsFaulty:
		return "The " + cmp.Or(faulty[d.Source], "teams file is") + " faulty, what was before stays in force" + part(": ", d.Fault)
	case event.Ping:
		return "Sluice: this hook works"
	}
	return "Sluice: " + string(e.Type)
}

// ends are how tasks end.
var ends = map[event.Type]string{
	event.TaskSucceeded: "succeeded", event.TaskFailed: "failed", event.TaskCancelled: "was cancelled",
	event.TaskUnheard: "was never seen to end and is charged as held", event.TaskStored: "has its pictures stored",
}

// faulty are the sources of teams and accounts.
var faulty = map[string]string{"file": "teams file or the accounts file is", "directory": "directory is"}

// whoseQuota names what a quota limits.
func whoseQuota(e *event.Event, d *members) string {
	switch d.Scope {
	case "house":
		return "All teams together"
	case "account":
		return "Account " + d.ID + " at the service"
	case "key":
		return "Team " + e.Team + ", key" + part(" ", d.ID)
	case "tag":
		return "Team " + e.Team + ", " + cmp.Or(d.ID, "requests without the tag")
	}
	return "Team " + e.Team
}

func usedOf(d *members) string {
	if d.Used == "" || d.Limit == "" {
		return ""
	}
	return ": " + string(d.Used) + " of " + string(d.Limit)
}

// part is a text with a word before it; empty without a text.
func part(word, text string) string {
	if text == "" {
		return ""
	}
	return word + text
}
