package gateway

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/wire"
)

// FuzzTaskID: a task's id never has more than the service's alphabet, whatever the path.
func FuzzTaskID(f *testing.F) {
	for _, seed := range []string{"a", "a/", "a/cancel", "%61", "..%2f", "a%2fcancel", "%252e", "a;b", "\xff", "a//", "a.b~c", ".", "..",
		"%2e%2e"} {
		f.Add(seed)
	}
	form := regexp.MustCompile(`^[A-Za-z0-9._~-]{1,256}$`)
	rs := newRoutes([]route{{method: get, path: "tasks"}, {method: get, path: "tasks/{id}"}, {method: post, path: "tasks/{id}/cancel"}})
	f.Fuzz(func(t *testing.T, rest string) {
		if m, ok := rs.lookup(versionPrefix + "tasks/" + rest); ok && m.task != "" &&
			(!form.MatchString(m.task) || m.task == "." || m.task == "..") {
			t.Errorf("%q is taken for the id %q", rest, m.task)
		}
	})
}

// Pages in browsers can read every header of the service that other clients get.
func TestPagesMayReadTheServicesHeaders(t *testing.T) {
	names := strings.Split(wire.Exposed, ", ")
	for _, name := range append(wire.InboundNames[:], wire.ReplayNames[:]...) {
		if name != "Content-Type" && !slices.Contains(names, name) { // that one needs no mention
			t.Errorf("%s is not exposed to pages", name)
		}
	}
}
