package telemetry

// Cost is an amount of each unit that teams are limited in: what was held for a request, or what it was charged. The zero value
// means "not known". A refused request has a known cost of zero.
type Cost struct {
	Known    bool   // false: the log line says null
	Requests int64  // requests
	Tokens   int64  // tokens
	Images   int64  // images
	Spend    int64  // 10⁻⁹ of the teams file's currency; the log line writes it in the currency itself
	Flag     string // how the amount came about (exact, estimated, …); "" is left out of the log line
}
