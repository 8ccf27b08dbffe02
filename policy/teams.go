package policy

// Teams is one reading of the teams file. It never changes, so any number of requests may use it while a newer one
// takes its place.
type Teams struct{}
