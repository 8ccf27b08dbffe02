package event

import "time"

// Bounds are how long events are kept, and how many of an owner: the oldest go first.
type Bounds struct {
	Keep time.Duration // an event's life
	Most int           // of an owner, about
}

// DefaultBounds are the bounds without settings.
var DefaultBounds = Bounds{Keep: 72 * time.Hour, Most: 100_000}

// Kept are the default bounds with another life of events.
func Kept(keep time.Duration) Bounds { return Bounds{Keep: keep, Most: DefaultBounds.Most} }
