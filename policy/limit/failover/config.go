package failover

import (
	"time"

	"sluice/policy/limit/redisstore"
)

// Config is what [New] needs.
type Config struct {
	Store    *redisstore.Store
	Timeout  time.Duration // of one call while a request waits for it
	Refuse   bool          // without Redis nothing is admitted; else what Redis has set aside for this process
	Replicas int           // how many processes share the rates; at least 1
	// Bridge is how long an allowance may be spent after it was last renewed: outages as long as this are bridged, as far as
	// allowances reach. 0: 10 minutes.
	Bridge time.Duration
	Now    func() time.Time
	// Changed is told when Redis goes away, and when it is back, for how long it was away. Nil: nobody is.
	Changed func(away bool, lasted time.Duration)
	// Miscounted is told once when other replicas are alive than Replicas says. Nil: nobody is.
	Miscounted func(err error)
}

// bridgeDefault is the default of Config.Bridge.
const bridgeDefault = 10 * time.Minute
