// Package limit keeps accounts: what a team may still spend, in rates (token buckets) and quotas (calendar), and what
// each request holds until its cost is known.
//
// It is for admitting, settling and sweeping holds, in this process's memory or in Redis, under one contract. It is not
// for judging a request (package policy) nor for reading what an answer cost (package telemetry); it logs nothing.
//
// It promises that a refusal changes nothing, that a hold is settled exactly once, and that no limit is passed while
// its state is known.
package limit
