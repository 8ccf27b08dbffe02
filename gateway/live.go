package gateway

import (
	"sync/atomic"

	"sluice/gateway/upstream"
	"sluice/policy/teams"
)

// live holds the parts that may change while the gateway runs.
type live struct {
	teams    atomic.Pointer[teams.File]
	key      atomic.Pointer[upstream.Credential]
	draining atomic.Bool // every answer ends its connection
	stopping atomic.Bool // new requests are refused
}

// label is the name of a model in metrics.
func (l *live) label(model string) string { return l.teams.Load().Label(model) }

// cover hides the service's key and address in a text.
func (l *live) cover(text string) string { return l.key.Load().Cover(text) }
