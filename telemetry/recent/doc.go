// Package recent keeps what requests did lately: counts by team and minute of the last two days, and the last requests of all
// replicas, each as its log line.
//
// It is for charts and lists of the console. It is not for billing: the ledger of package limit is. A [Collector] takes what the
// process did, and posts it every few seconds to a store that all replicas share. There are two forms of that: [Memory] and
// [Redis].
//
// It promises that a request neither waits for a store nor for the requests of other cores, that each count arrives once also if
// a reply is lost, that memory is bounded while the store is away, and that no prompt, body or key is in it.
package recent
