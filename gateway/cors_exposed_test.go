package gateway

import (
	"slices"
	"strings"
	"testing"
)

// Pages in browsers can read every header of the service that other clients get.
func TestPagesMayReadTheServicesHeaders(t *testing.T) {
	names := strings.Split(exposed, ", ")
	for _, name := range append(inboundNames[:], replayNames[:]...) {
		if name != "Content-Type" && !slices.Contains(names, name) { // that one needs no mention
			t.Errorf("%s is not exposed to pages", name)
		}
	}
}
