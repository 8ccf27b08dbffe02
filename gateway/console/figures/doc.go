// Package figures reads what the console shows: traffic, limits, use, money, tasks and requests, as plain values.
//
// It computes them from what others keep: the accounts and the ledger of package limit, the tasks of package cache, the counts and
// lines of package recent. It keeps no figures but sums of days that are over (package daily). It knows no HTTP.
//
// It promises that a person gets what that person may see and nothing else, that a foreign team is answered as an unknown one, that
// every total is that of sluice usage, and that what a page needs is read from Redis in three round trips, one after another, at most.
package figures
