// Package meter reads the service's answers on their way to a client: how much an answer used, how it ended, which task it
// names, and whether it is an error. It reads JSON documents and streams of events.
//
// It only reads. It changes, delays and stores no byte of an answer, and decides nothing: the gateway charges by what it
// reads.
//
// It promises that memory is bounded whatever the size of an answer, that the cuts between the pieces of an answer make no
// difference, and that an answer it cannot read is never an error.
package meter
