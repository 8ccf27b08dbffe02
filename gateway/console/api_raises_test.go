package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
)

// raised is a raise in an answer.
type raised struct {
	ID, Team, Unit, Period, From, Until, Reason string
	Amount                                      json.Number
}

// raisesOf are the raises of team search, as somebody who may look sees them.
func (w *world) raisesOf() (ids string) {
	w.Helper()
	var l List[raised]
	w.expect(member, "GET /teams/search/raises", "", http.StatusOK, "").into(w.T, &l)
	for _, r := range l.Data {
		ids += r.ID + " "
	}
	return strings.TrimSpace(ids)
}

func (w *world) raise(body string) (r raised) {
	w.Helper()
	w.expect(operator, "POST /teams/search/raises", body, http.StatusCreated, "").into(w.T, &r)
	return r
}

// A raise's life over HTTP: it is made for a team of the file, listed, in the audit, and ends early or by itself.
func TestRaisesOverHTTP(t *testing.T) {
	worlds(t, func(w *world) {
		if got := w.raisesOf(); got != "" {
			w.Errorf("there are %q", got)
		}
		images := w.raise(`{"unit":"images","period":"day","amount":500,"until":"2026-11-22T23:59:59Z","reason":"launch"}`)
		want := raised{images.ID, "search", "images", "day", "2026-11-22T12:00:00Z", "2026-11-22T23:59:59Z", "launch", "500"}
		if diff := cmp.Diff(want, images); diff != "" || len(images.ID) != 12 {
			w.Errorf("the raise:\n%s", diff)
		}
		w.now = noon.Add(time.Hour)
		money := w.raise(`{"unit":"spend","period":"day","amount":1.5,"until":"2026-11-22T14:00:00Z","reason":"launch"}`)
		month := w.raise(`{"unit":"images","period":"month","amount":20,"reason":"launch"}`)
		if month.Until != "2026-12-01T00:00:00Z" || money.Amount != "1.5" {
			w.Errorf("%+v, %+v", month, money)
		}
		if diff := cmp.Diff(money.ID+" "+images.ID+" "+month.ID, w.raisesOf()); diff != "" {
			w.Errorf("the list:\n%s", diff)
		}
		w.expect(operator, "DELETE /teams/ads/raises/"+month.ID, "", http.StatusNotFound, "missing raise")
		w.expect(operator, "DELETE /teams/search/raises/"+month.ID+"?reason=over", "", http.StatusNoContent, "")
		w.expect(operator, "DELETE /teams/search/raises/"+month.ID, "", http.StatusNotFound, "missing raise")
		var entries List[teams.Entry]
		w.expect(viewer, "GET /audit?team=search&limit=2", "", http.StatusOK, "").into(w.T, &entries)
		for i, want := range []teams.Entry{
			{What: "raise.end", Team: "search", Who: "token", Address: "192.0.2.1", Reason: "over"},
			{What: "raise.add", Team: "search", Who: "token", Address: "192.0.2.1", Reason: "launch"},
		} {
			e := entries.Data[i]
			if got := (teams.Entry{What: e.What, Team: e.Team, Who: e.Who, Address: e.Address, Reason: e.Reason}); cmp.Diff(want, got) != "" {
				w.Errorf("entry %+v, want %+v", got, want)
			}
			if text := string(e.Before) + string(e.After); !strings.Contains(text, `"amount":20`) || !strings.Contains(text, month.ID) {
				w.Errorf("the entry is about %s", text)
			}
		}
		if _, _, faults, err := w.Prove(w.Context(), operator.Person); err != nil || faults != nil {
			w.Errorf("%v, %v", faults, err)
		}
		w.now = noon.Add(2 * time.Hour)
		if got := w.raisesOf(); got != images.ID {
			w.Errorf("at two in the afternoon there are %q", got)
		}
		w.now = noon.Add(12 * time.Hour)
		if got := w.raisesOf(); got != "" {
			w.Errorf("the next day there are %q", got)
		}
		w.expect(operator, "DELETE /teams/search/raises/"+images.ID, "", http.StatusNotFound, "missing raise")
	})
}

func TestWhatARaiseMayNotBe(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		`{"unit":"images","period":"day","amount":0,"reason":"x"}`:                                "unfit amount",
		`{"unit":"images","period":"day","reason":"x"}`:                                           "unfit amount",
		`{"unit":"images","period":"day","amount":-5,"reason":"x"}`:                               "unfit amount",
		`{"unit":"images","period":"day","amount":1.5,"reason":"x"}`:                              "unfit amount",
		`{"unit":"images","period":"day","amount":1,"until":"2026-11-22T12:00:00Z","reason":"x"}`: "unfit until",
		`{"unit":"images","period":"day","amount":1,"until":"2026-11-23T00:00:01Z","reason":"x"}`: "unfit until",
		`{"unit":"tokens","period":"day","amount":1,"reason":"x"}`:                                "unfit unit",
		`{"unit":"images","period":"day","amount":1}`:                                             "unfit reason",
		`{"unit":"images","period":"day","amount":1,"reason":"` + strings.Repeat("x", 201) + `"}`: "unfit reason",
		`{"unit":"images","period":"hour","amount":1,"reason":"x"}`:                               "unfit period",
	} {
		a := w.expect(operator, "POST /teams/search/raises", body, http.StatusUnprocessableEntity, want)
		var p Document
		if a.into(t, &p); p.Given == "" || p.Allowed == "" {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	a := w.expect(operator, "POST /teams/search/raises", `{"unit":"images","period":"day","amount":"1","reason":"x"}`,
		http.StatusBadRequest, "invalid amount")
	var p Document
	if a.into(t, &p); p.Text != "not a number" || p.Allowed != "a number such as 0.3" {
		t.Errorf("%s", a.body)
	}
	for _, body := range []string{
		`{"unit":"images","period":"day","amount":1,"until":"tomorrow","reason":"x"}`, `{"amount":1,"AMOUNT":2}`,
	} {
		w.expect(operator, "POST /teams/search/raises", body, http.StatusBadRequest, "invalid body")
	}
	w.expect(operator, "POST /teams/search/raises", `{"unit":"images","period":"day","amount":1,`+
		`"reason":"slk_aaaaaaaaaaaa_ccccccccccccccccccccccccccccccccccccccccccc"}`, http.StatusBadRequest, "invalid reason")
	w.create("maps", "")
	w.expect(operator, "POST /teams/maps/raises", `{"unit":"images","period":"day","amount":1,"reason":"x"}`, http.StatusServiceUnavailable,
		"away") // it is in force in 2 s
	for range 100 {
		w.raise(`{"unit":"images","period":"day","amount":1,"reason":"x"}`)
	}
	w.expect(operator, "POST /teams/search/raises", `{"unit":"images","period":"day","amount":1,"reason":"x"}`, http.StatusConflict,
		"conflict")
}
