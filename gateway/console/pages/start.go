package pages

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/why"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

// startView shows how to start with a key, and its last request.
type startView struct {
	Team, ID string
	Snippets []snippet
	First    *recent.Request // the newest request with the key; nil: none yet
	Outcome  string          // of First
	Asked    bool            // First could be read
	Stopped  string          // why the key does not work; empty: it works
	Model    string          // in the snippets; empty: no model is known that the key may use
}

// snippet is something to paste.
type snippet struct{ Name, Text string }

// start shows how to start with a key, but not the key itself, which is shown only when it is made.
func (s keyPages) start(r *http.Request, p access.Person) (view, error) {
	t, err := s.Teams.Show(r.Context(), p, r.PathValue("team"))
	if err != nil {
		return view{}, err
	}
	id := r.PathValue("key")
	v := s.startOf(r, p, &t, id)
	switch absent := keyOf(&t, id) == nil; {
	case absent && v.First == nil && (isToken(id) || !wantsLive(r)): // who follows the page has seen the key
		return view{}, errAbsent
	case absent && !isToken(id):
		v.Stopped = "The key was removed: it no longer works."
	}
	return view{page: "start", title: "Start with key " + id, data: v, live: true, back: &crumb{id, keyURL(t.ID, id)}}, nil
}

// startOf returns the snippets for a team, and the newest request with a key.
func (s keyPages) startOf(r *http.Request, p access.Person, t *teams.Spec, id string) startView {
	k := keyOf(t, id)
	v := startView{Team: t.ID, ID: id, Stopped: stopped(t, k, s.Now())}
	page, err := s.Figures.RequestList(r.Context(), p, recent.Filter{Teams: []string{t.ID}, Key: id, Size: 1})
	if v.Asked = err == nil; v.Asked && len(page.Requests) > 0 {
		v.First = &page.Requests[0]
		v.Outcome = outcomeOf(v.First)
	}
	base := "https://sluice.example"
	if s.Gateway != nil {
		base = s.Gateway(r.Host)
	}
	if file := s.File(); file.Team(t.ID) != nil {
		var own []policy.Pattern
		if k != nil {
			own = k.Models
		}
		v.Model = teams.TextModel(file, file.Team(t.ID), own, limit.CalendarOf(s.Now()).Day)
	}
	fill := strings.NewReplacer("BASE", base, "MODEL", cmp.Or(v.Model, "MODEL"))
	for _, one := range snippets {
		v.Snippets = append(v.Snippets, snippet{one.Name, fill.Replace(one.Text)})
	}
	return v
}

// outcomeOf says how a request ended.
func outcomeOf(r *recent.Request) string {
	switch a := why.Of(r); {
	case a.Blame == why.NoBlame:
		return "It was answered"
	case recent.Refused(r.Refusal):
		return "It was refused: " + a.Sentence
	default:
		return "It failed: " + a.Sentence
	}
}

// isOff reports whether a team is disabled, as one is that is being removed.
func isOff(t *teams.Spec) bool { return t.Flag("disabled") || t.Flag("removing") }

// keyOf returns a key of a team; nil: it has no such key.
func keyOf(t *teams.Spec, id string) *teams.Key {
	if at := slices.IndexFunc(t.Keys, func(k teams.Key) bool { return k.ID == id }); at >= 0 {
		return &t.Keys[at]
	}
	return nil
}

// stopped says why a key of a team does not work; empty: it works. Nil: the key may not be there yet.
func stopped(t *teams.Spec, k *teams.Key, now time.Time) string {
	switch {
	case isOff(t):
		return "The team is disabled: none of its keys works."
	case k != nil && k.Disabled:
		return "The key is disabled: it does not work until it is enabled."
	case k != nil && !k.Expires.IsZero() && !k.Expires.After(now):
		return "The key has ended: it no longer works."
	}
	return ""
}

// snippets are requests for a short text in the most used forms. MODEL stays if no model is known. The key is in a variable, so that the
// page that shows it has it once.
var snippets = []snippet{
	{"curl, OpenAI’s interface", `curl BASE/v1/chat/completions -H "Authorization: Bearer $SLUICE_KEY" -H "Content-Type: application/json" \
  -d '{"model":"MODEL","messages":[{"role":"user","content":"What is a sluice?"}]}'`},
	{
		"curl, the service’s own interface",
		`curl BASE/api/v1/services/aigc/text-generation/generation -H "Authorization: Bearer $SLUICE_KEY" -H "Content-Type: application/json" \
  -d '{"model":"MODEL","input":{"messages":[{"role":"user","content":"What is a sluice?"}]},"parameters":{"result_format":"message"}}'`,
	},
	{"Python, after pip install openai", `import os
from openai import OpenAI

client = OpenAI(base_url="BASE/v1", api_key=os.environ["SLUICE_KEY"])
answer = client.chat.completions.create(model="MODEL", messages=[{"role": "user", "content": "What is a sluice?"}])
print(answer.choices[0].message.content)`},
	{"JavaScript, after npm install openai", `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "BASE/v1", apiKey: process.env.SLUICE_KEY });
const answer = await client.chat.completions.create({ model: "MODEL", messages: [{ role: "user", content: "What is a sluice?" }] });
console.log(answer.choices[0].message.content);`},
}

// startURL returns the address of the page that shows how to start with a key.
func startURL(team, key string) string { return keyURL(team, key) + "/start" }
