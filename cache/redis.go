package cache

// Redis keeps claims, answers, the account's rates of queries and cancels, and the outcomes of requests that run once in
// Redis, where every replica sees them. Claims that are final or fresh are kept in this process, too. A write that Redis
// does not take is kept and repeated later. It is safe for concurrent use. Create it with [NewRedis].
type Redis struct {
	*redisClaims
	*redisTurns
	*redisSchedule
	*redisReader
	*redisOutcomes
	*RedisQueries               // of task queries
	Cancels       *RedisQueries // as many a second; the service counts the two apart

	pending *pendingWrites
}

// NewRedis connects to nothing yet.
func NewRedis(config RedisConfig) *Redis {
	s := &store{config}
	pending := new(pendingWrites)
	losses := newLosses(config.Now)
	teams := &openTeams{teams: map[string]bool{}}
	turns := &redisTurns{s}
	reader := &redisReader{s}
	return &Redis{
		redisClaims:   &redisClaims{store: s, local: newLocalCache(), pending: pending, losses: losses, teams: teams, turns: turns},
		redisTurns:    turns,
		redisSchedule: &redisSchedule{store: s, reader: reader, losses: losses, teams: teams},
		redisReader:   reader,
		redisOutcomes: &redisOutcomes{s, pending},
		RedisQueries:  newRedisQueries(s, queriesKey),
		Cancels:       newRedisQueries(s, cancelsKey),
		pending:       pending,
	}
}

// Unwritten counts the writes that Redis did not take yet.
func (r *Redis) Unwritten() int { return r.pending.len() }
