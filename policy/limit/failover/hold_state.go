package failover

// holdState is the state of a hold that was admitted without Redis. docs/architecture.md has the picture.
type holdState int

const (
	localOnly    holdState = iota // Redis does not know it: it is settled here, and its charge is added up with others (queue.go)
	maybeInRedis                  // Redis may hold it: it is settled there, by its id
	inRedis                       // Redis holds it or has settled it, or it was settled here: this process forgets it
)

// holdEvent is an event in the life of such a hold.
type holdEvent int

const (
	reported       holdEvent = iota // a renewal reports it to Redis; the reply may be lost
	heldInRedis                     // Redis has answered that it holds it
	requestEnded                    // its request has ended
	taskEnded                       // its task has ended: another replica may see that, too; or an event belongs to its end
	settledInRedis                  // Redis has settled it
)

// nextState has the state after each event.
var nextState = [...][settledInRedis + 1]holdState{
	localOnly: {
		reported: maybeInRedis, heldInRedis: inRedis, requestEnded: inRedis, taskEnded: maybeInRedis, settledInRedis: inRedis,
	},
	maybeInRedis: {
		reported: maybeInRedis, heldInRedis: inRedis, requestEnded: maybeInRedis, taskEnded: maybeInRedis, settledInRedis: inRedis,
	},
	inRedis: {inRedis, inRedis, inRedis, inRedis, inRedis},
}
