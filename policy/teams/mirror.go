package teams

import (
	"time"

	"sluice/policy/strictyaml"
)

const (
	leastKept   = 24 * time.Hour
	longestKept = 3650 * 24 * time.Hour
)

var kept = strictyaml.Form[time.Duration]{Allowed: `whole hours from "24h" to "87600h"`, Parse: func(text string) (time.Duration, bool) {
	keep, err := time.ParseDuration(text)
	return keep, err == nil && keep >= leastKept && keep <= longestKept && keep%time.Hour == 0
}}

// readMirror reads for how long pictures are kept, which replaces what the defaults say.
func readMirror(n strictyaml.Node) (keep time.Duration) {
	if !n.IsNone() {
		n.Fields(strictyaml.Must("keep", strictyaml.One(&keep, kept)))
	}
	return keep
}
