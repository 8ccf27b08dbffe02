// Package limit keeps accounts: what a team may still spend, in rates (token buckets) and quotas (calendar days and months), and
// what each request holds until its cost is known.
//
// # A request
//
// Before a request goes upstream, Admit places a [Hold]: what the request may cost, in each unit ([Amounts]). It checks every rate,
// every quota and open_tasks of the team, and takes from all of them or from none. The answer is a [Verdict]: the hold, or the limit
// that refuses. When the cost is known, Settle replaces the hold by a [Charge]: what was used. The ledger adds charges up by day,
// model and endpoint.
//
// # A hold's states
//
//	           lease ends
//	held ────────────────────► expired      charged as held, flagged estimated
//	 │                            │
//	 │ settle                     │ settle: the difference to the truth is charged
//	 └──────────► settled ◄───────┘
//
// A hold is named by its id, so admitting or settling it again changes nothing. Extend gives an open hold a longer lease. A hold
// belongs to the day and the month of its admission, whenever it ends.
//
// # The forms
//
// [Memory] keeps the accounts in this process. Package redisstore keeps them in Redis: for each team a hash of what its days and
// months used, hold and have set aside, a text for each hold, the open holds by the end of their leases, a bucket for each rate, and
// a ledger for each day. One test plays the same histories against both forms. Package failover adds what a replica does while it
// does not reach Redis: it spends its allowances, amounts that Redis has set aside for it beforehand, and [Shares] of the rates, and
// reports to Redis afterwards.
//
// # Promises
//
// A refusal changes nothing. A hold is settled exactly once. No limit is passed while its state is known. The package computes: it
// does no I/O, reads no clock and logs nothing.
package limit
