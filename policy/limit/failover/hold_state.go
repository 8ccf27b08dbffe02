package failover

// holdState is the state of a hold that was admitted without Redis. docs/architecture.md has the picture.
type holdState int

const (
	unknown  holdState = iota // Redis does not know it: it is settled here, and its charge added up with others
	doubtful                  // Redis may hold it: it is settled there, by its id
	gone                      // Redis holds it, or it is settled: nothing of it is kept here
)

// holdEvent is what may happen to such a hold.
type holdEvent int

const (
	told         holdEvent = iota // a renewal tells Redis of it, whose reply may be lost
	heldThere                     // Redis has answered that it holds it
	ended                         // its request has ended
	taskEnded                     // its task has ended: another replica may see that, too
	settledThere                  // Redis has settled it
)

// nextState has the state after each event.
var nextState = [...][settledThere + 1]holdState{
	unknown:  {told: doubtful, heldThere: gone, ended: gone, taskEnded: doubtful, settledThere: gone},
	doubtful: {told: doubtful, heldThere: gone, ended: doubtful, taskEnded: doubtful, settledThere: gone},
	gone:     {gone, gone, gone, gone, gone},
}
