package event

import "time"

// Bounds are how long events are kept, how many of one owner (beyond that the oldest are dropped), and how many
// deliveries are under way.
type Bounds struct {
	Keep     time.Duration // an event's life
	Most     int           // of an owner, approximately
	InFlight int           // deliveries to a hook at a time, of all replicas
}

// DefaultBounds are the bounds without settings.
var DefaultBounds = Bounds{Keep: 72 * time.Hour, Most: 100_000, InFlight: InFlight}

// Kept are the default bounds with another life of events.
func Kept(keep time.Duration) Bounds {
	b := DefaultBounds
	b.Keep = keep
	return b
}

// InFlight is how many deliveries to a hook are under way at a time, of all replicas.
const InFlight = 4
