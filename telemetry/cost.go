package telemetry

// Cost is an amount of each unit that teams are limited in: what was held for a request, or what it was charged. The zero value
// means "not known". A refused request has a known cost of zero. appendCost and recordLine.cost write each unit too.
type Cost struct {
	Known    bool   // false: the log line says null
	Requests int64  // requests
	Tokens   int64  // tokens
	Images   int64  // images
	Spend    int64  // 10⁻⁹ of the teams file's currency; the log line writes it in the currency itself
	Flag     string // how the amount came about (one of the flags); "" is left out of the log line
}

// How an amount came about: the flags of a cost.
const (
	FlagExact     = "exact"
	FlagEstimated = "estimated"
	FlagRefused   = "refused"  // the service refused the request
	FlagNotSent   = "not-sent" // no byte of the request left
	FlagTask      = "task"     // a task runs; its end is charged
	FlagUnknown   = "unknown"  // whether the service did the work is unknown
)
