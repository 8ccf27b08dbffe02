package figures

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/console/access"
	"sluice/policy/event"
	"sluice/policy/teams"
)

// A person gets the deliveries of the own teams to their own hooks, and of others nothing; those of the operators' hooks get who sees all.
func TestDeliveriesAreThoseThatAPersonMaySee(t *testing.T) {
	s := newStand(t, false)
	hook := "hooks: [{id: %s, url: \"https://a.example\", events: [\"*\"], kind: slack}]"
	var err error
	if s.file, err = teams.Parse(fmt.Appendf(nil, "teams:\n  - {id: search, "+hook+"}\n  - {id: shop, "+hook+"}\n  - {id: ads}\n"+hook+"\n",
		"jobs", "jobs", "ops")); err != nil {
		t.Fatal(err)
	}
	ids := map[string]event.ID{}
	for _, owner := range []string{"search", "shop", event.Operators} {
		draft := &event.Draft{Type: event.QuotaReached, Team: owner, Data: []byte("{}"), To: s.file.Hooked(owner, event.QuotaReached, "")}
		if ids[owner], err = s.outbox.Append(t.Context(), draft); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.outbox.Tried(t.Context(), &event.Delivery{Event: event.Event{ID: ids["search"]},
		To: event.Address{Owner: "search", Hook: "jobs"}, State: event.Delivered, Tries: 1, Code: 204}, 0); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		about string
		p     access.Person
		q     event.Query
		want  string // the hooks, those with something waiting with *, and the deliveries
	}{
		{"all hooks, those that wait first", operator, event.Query{}, "shop/jobs* @operators/ops* search/jobs:"},
		{"the hooks with an id", operator, event.Query{Hook: "jobs"}, "shop/jobs* search/jobs:"},
		{"a member's own hooks", member, event.Query{}, "search/jobs:"},
		{"a team's, and of its events the operators'", operator, event.Query{Owner: "search"},
			"@operators/ops* search/jobs: search/jobs delivered, @operators/ops waiting,"},
		{"a member's own", member, event.Query{Owner: "search"}, "search/jobs: search/jobs delivered,"},
		{"in a state", operator, event.Query{Owner: "search", State: event.Waiting}, "@operators/ops* search/jobs: @operators/ops waiting,"},
		{"of an event", member, event.Query{Owner: "search", Event: ids["search"].String()}, "search/jobs: search/jobs delivered,"},
		{"a team without hooks", operator, event.Query{Owner: "ads"}, "@operators/ops*:"},
		{"the operators' own", operator, event.Query{Owner: event.Operators},
			"@operators/ops*: @operators/ops waiting, @operators/ops waiting, @operators/ops waiting,"},
		{"the operators' own of an event", operator, event.Query{Owner: event.Operators, Event: ids["shop"].String()},
			"@operators/ops*: @operators/ops waiting,"},
	} {
		r, err := s.figures.Deliveries(t.Context(), tt.p, tt.q)
		got := ""
		for _, h := range r.Hooks {
			if got += " " + h.Owner + "/" + h.Hook; h.Oldest != nil {
				got += "*"
			}
		}
		got += ":"
		for _, d := range r.Data {
			got += fmt.Sprintf(" %s/%s %s,", d.Owner, d.Hook, d.State)
		}
		if got = strings.TrimSpace(got); err != nil || got != tt.want {
			t.Errorf("%s: %q, want %q: %v", tt.about, got, tt.want, err)
		}
	}
	for _, tt := range []struct {
		p    access.Person
		q    event.Query
		want error
	}{
		{member, event.Query{Owner: "shop"}, ErrAbsent},
		{member, event.Query{Owner: "invented"}, ErrAbsent},
		{operator, event.Query{Owner: "invented"}, ErrAbsent},
		{member, event.Query{Owner: event.Operators}, ErrAbsent},
		{operator, event.Query{Owner: "search", Event: ids["shop"].String()}, event.ErrID},
		{operator, event.Query{Owner: "search", State: "late"}, event.ErrState},
	} {
		if r, err := s.figures.Deliveries(t.Context(), tt.p, tt.q); !errors.Is(err, tt.want) || len(r.Data) > 0 {
			t.Errorf("%+v: %v, %+v", tt.q, err, r)
		}
	}
	for _, tt := range []struct {
		p    access.Person
		of   string
		want int
	}{{operator, "shop", 1}, {operator, event.Operators, 1}, {member, "search", 1}, {member, "shop", 0}, {member, event.Operators, 0}} {
		if found, err := s.figures.Search(t.Context(), tt.p, ids[tt.of].String()); err != nil || len(found) != tt.want ||
			tt.want > 0 && !strings.HasPrefix(found[0].Path, "/events?") {
			t.Errorf("%s: %+v %v", tt.of, found, err)
		}
	}
}
