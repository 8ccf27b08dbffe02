package console

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/policy/teams"
)

// TestMembersInOtherLettersAreUnknown: given "note" and "NOTE" two readers could take different ones.
func TestMembersInOtherLettersAreUnknown(t *testing.T) {
	w := newWorld(t)
	w.expect(operator, "POST /teams", `{"id":"maps"}`, http.StatusCreated, "")
	w.mint(operator, "maps", `{"note":"one"}`)
	got := w.expect(operator, "GET /teams/maps", "", http.StatusOK, "")
	for _, tt := range []struct{ line, body, problem string }{
		{"POST /teams/maps/keys", `{"NOTE":"x"}`, "invalid body"},
		{"POST /teams/maps/keys", `{"expires":"2027-01-01T00:00:00Z","Expires":"2099-01-01T00:00:00Z"}`, "invalid body"},
		{"POST /teams/maps/keys", `{"replace\u017f":"x"}`, "invalid body"},
		{"POST /teams/maps/adjust", `{"unit":"tokens","delta":1,"Delta":500,"reason":"x"}`, "invalid body"},
		{"PUT /teams/maps", `{"keys":[{"ID":"x"}]}`, "invalid keys"},
		{"POST /teams/maps/keys", `{"note":null,"expires":null,"replaces":null,"old_ends":null}`, ""},
	} {
		status := http.StatusBadRequest
		if tt.problem == "" {
			status = http.StatusCreated
		}
		w.expect(operator, tt.line, tt.body, status, tt.problem, "If-Match: "+got.header.Get("ETag"))
	}
}

// TestIfMatch as RFC 9110 has it: a list, * and no weak tags.
func TestIfMatch(t *testing.T) {
	w := newWorld(t)
	w.expect(operator, "POST /teams", `{"id":"maps"}`, http.StatusCreated, "")
	etag := w.expect(operator, "GET /teams/maps", "", http.StatusOK, "").header.Get("ETag")
	for match, problem := range map[string]string{
		"":                       "if-match",
		"*":                      "",
		etag:                     "",
		`"x", ` + etag:           "",
		`"a,b" ,` + etag + `,`:   "",
		`W/"x",` + etag:          "",
		"W/" + etag:              "lost If-Match",
		`"x", "y"`:               "lost If-Match",
		etag[1 : len(etag)-1]:    "lost If-Match",
		`"x` + etag + `x"`:       "lost If-Match",
		`"*"`:                    "lost If-Match",
		etag + `x`:               "lost If-Match",
		`"` + etag[1:5] + `", *`: "lost If-Match",
	} {
		status := map[string]int{"": http.StatusOK, "if-match": http.StatusPreconditionRequired,
			"lost If-Match": http.StatusPreconditionFailed}[problem]
		w.expect(operator, "PUT /teams/maps", `{}`, status, problem, "If-Match: "+match)
	}
	w.expect(operator, "DELETE /teams/maps", "", http.StatusPreconditionFailed, "lost If-Match", `If-Match: "x"`)
	w.expect(operator, "DELETE /teams/maps", "", http.StatusAccepted, "", `If-Match: "x", `+etag)
}

// TestACancelThatIsNotTaken is in the document.
func TestACancelThatIsNotTaken(t *testing.T) {
	w := newWorld(t)
	w.expect(operator, "POST /teams", `{"id":"maps"}`, http.StatusCreated, "")
	w.traffic.cancel = &teams.Problem{Code: teams.CodeConflict, Field: "task", Text: "it runs"}
	w.expect(operator, "POST /teams/maps/tasks/task-1/cancel", "", http.StatusConflict, "conflict task")
}

// TestALongTaskIsCancelled: with any id that the gateway claims, escaped or not.
func TestALongTaskIsCancelled(t *testing.T) {
	w := newWorld(t)
	w.expect(operator, "POST /teams", `{"id":"maps"}`, http.StatusCreated, "")
	for _, escaped := range []string{longTask, strings.ReplaceAll(longTask, "~", "%7E")} {
		w.traffic.cancelled = nil
		w.expect(operator, "POST /teams/maps/tasks/"+escaped+"/cancel", "", http.StatusNoContent, "")
		if !slices.Equal(w.traffic.cancelled, []string{longTask}) {
			t.Errorf("%s: cancelled %q", escaped, w.traffic.cancelled)
		}
	}
	w.expect(operator, "POST /teams/maps/tasks/"+longTask+"t/cancel", "", http.StatusNotFound, "missing task")
}
