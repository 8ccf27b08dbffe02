// Package feed streams a team's events to its clients, as server-sent events.
//
// One reader follows the events of all teams that have a stream open in this process, and keeps each team's newest events for all of its
// streams. A stream that needs earlier ones, because its client is slow or asked for them, reads the outbox from the last event that it
// sent, one stream of a team at a time. So no client delays another, and memory is bounded however slow clients are.
//
// It promises that a stream has every event of its team, once and in order, that is written from its opening on or after the event that
// its client names, and says "gap" where some may be missing. It notes in the outbox which teams are followed, for the [event.Routes] of
// every replica: otherwise their events would not be written.
package feed
