package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// restoreMost is how many claims are restored in one turn.
	restoreMost = 2000
	// restoreTogether is how many of them are restored concurrently, so that a slow network does not slow them down.
	restoreTogether = 8
	// restoreDue is the wait before the service is queried about a lost task, so that a replica that knows its end can restore it.
	// Otherwise the task could be charged twice, because replicas know what was charged before the loss only as a sum. A replica
	// notices the loss within two seconds, and restores some 15,000 ends in the remaining time.
	restoreDue = repeatTime
)

const (
	// endKept is how long a process keeps a task's end, to restore it: longer than the five minutes that a dump of a busy Redis is
	// usually old.
	endKept     = 10 * time.Minute
	forgetEvery = time.Minute
)

// Maintain retries failed writes, restores what Redis lost and this process knows, and drops claims that need not be
// known here. One goroutine calls it every second. Its error reports what Redis lost, and which writes were dropped.
func (c *redisClaims) Maintain(ctx context.Context) error {
	news := c.look(ctx)
	err := c.pending.flush(ctx)
	c.restoreSome(ctx)
	c.forget()
	return errors.Join(news, err, c.toldDenied())
}

// toldDenied reports the claims that were denied late, and forgets them.
func (c *redisClaims) toldDenied() error {
	denied := c.denied.Swap(0)
	if denied == 0 {
		return nil
	}
	return fmt.Errorf("tasks that the service named while Redis was away, and that had been claimed before: %d; "+
		"what their later requests hold is charged when its lease ends", denied)
}

// forget drops the tasks that ended some time ago and those that the service has forgotten, unless Redis may lack
// them.
func (c *redisClaims) forget() {
	now := c.Now()
	if now.Sub(c.forgot) < forgetEvery || len(c.restore) > 0 {
		return
	}
	c.forgot = now
	for name, claim := range c.local.claims.All() {
		over := now.Sub(claim.Created) > c.kept(claim) || claim.Final() && now.Sub(claim.Fetched) > endKept
		if over && claim.written != "" && !c.losses.incomplete(claim.Team) {
			c.local.claims.Invalidate(name)
		}
	}
}

// look reads from Redis the memory of the teams that are known here, which also probes whether Redis answers. If Redis
// lost claims of teams, they are restored in this turn and the next ones, and the error reports it.
func (c *redisClaims) look(ctx context.Context) error {
	if c.Memory != nil {
		c.losses.number(c.Memory())
	}
	teams, last := c.losses.watched()
	call, cancel := c.short(ctx)
	defer cancel()
	for i, cmd := range inOneTrip(call, c.store, teams, func(pipe redis.Pipeliner, team string) *redis.SliceCmd {
		return pipe.HMGet(call, memoryKey(team), "epoch", "count")
	}) {
		now, _, err := readMemory(append(cmd.Val(), nil))
		switch {
		case cmd.Err() != nil || err != nil:
			c.losses.missed(teams[i])
		case teams[i] != "":
			c.losses.saw(teams[i], last[i], now)
		}
	}
	lost := c.losses.takeLost()
	if len(lost) == 0 {
		return nil
	}
	known := len(c.restore)
	for claim := range c.local.claims.Values() {
		if lost[claim.Team] {
			c.restore = append(c.restore, claim)
		}
	}
	known = len(c.restore) - known
	// Tasks that have ended go first: a replica that finds such a task open queries it, and charges it again.
	slices.SortStableFunc(c.restore, func(a, b *Claim) int { return cmp.Compare(flag(b.Final()), flag(a.Final())) })
	return fmt.Errorf("Redis lost tasks or was restarted; teams affected: %d; tasks restored from this process: %d", len(lost), known)
}

// restoreSome restores as many claims as one turn may, until ctx ends. A failure ends the turn.
func (c *redisClaims) restoreSome(ctx context.Context) {
	for n := 0; n < restoreMost && len(c.restore) > 0 && ctx.Err() == nil; n += restoreTogether {
		some := c.restore[:min(restoreTogether, len(c.restore))]
		var restoring sync.WaitGroup
		var failed atomic.Bool
		for _, claim := range some {
			restoring.Go(func() {
				var err error
				if !c.fenced(func() { err = restoreOne(ctx, c, claim) }) || err != nil {
					failed.Store(true)
				}
			})
		}
		restoring.Wait()
		if failed.Load() {
			return
		}
		c.restore = c.restore[len(some):]
	}
	if len(c.restore) == 0 {
		c.restore = nil // frees the claims that the writes have replaced
	}
}

// restoreOne writes a claim in its newest known state. If another replica was first, or an older copy has the claim, only the task's end is
// written, or else what the stream of its creation counted.
func restoreOne(ctx context.Context, c *redisClaims, claim *Claim) error {
	claim = c.local.latest(claim)
	if c.Now().Sub(claim.Created) > c.kept(claim) {
		return nil
	}
	if _, err := c.owner(ctx, claim); err != nil { // Redis may have lost its owner, too
		return err
	}
	first, ours, err := c.write(ctx, claim, restoreDue, true)
	switch {
	case err != nil || first || !ours:
	case claim.Final():
		_, err = c.writeAnswer(ctx, claim, claim.Answer, claim.Body, claim.Queries)
	case claim.Answer.Streamed != "":
		err = writeStreamed(ctx, c, claim)
	}
	return err
}

// repeatTime is how long every replica takes to retry its pending writes once Redis is back: it notices that within a
// breaker's probe (250 ms), retries them within a call of Maintain (1 s), and 10,000 writes take some seconds more. An
// outage of Redis is also noticed up to a second late.
const repeatTime = 10 * time.Second

// memory describes what Redis remembers of a team's tasks, from the team's claims key.
type memory struct {
	epoch string // when it began; empty: no memory, or none is known here
	count int64  // claims that were written to it
}

// older reports whether Redis lost something since another memory was seen: all of it, or the newest writes, as a replica
// that takes over may.
func (m memory) older(than memory) bool {
	return than.epoch != "" && (m.epoch != than.epoch || m.count < than.count)
}

// losses notices that Redis lost tasks of a team, or could not be reached about them. In either case another replica
// may have tasks to write, and an unknown task is not denied.
type losses struct {
	now func() time.Time

	mu       sync.Mutex
	known    int64                // the number of Redis's memory by [RedisConfig.Memory]; 0: none was seen
	memories map[string]memory    // as they were last seen, by team
	lost     map[string]bool      // teams of which Redis lost tasks that are not restored yet
	away     map[string]time.Time // when Redis was last unreachable for a team's tasks; under "": for any team's
}

func newLosses(now func() time.Time) *losses {
	return &losses{now: now, memories: map[string]memory{}, lost: map[string]bool{}, away: map[string]time.Time{}}
}

// missed notes that Redis was unreachable for a team's tasks; empty: for any team's.
func (l *losses) missed(team string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away[team] = l.now()
}

// incomplete reports whether another replica may know a task of the team that Redis does not know yet.
func (l *losses) incomplete(team string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range [...]string{team, ""} {
		if at, ever := l.away[of]; ever && l.now().Sub(at) < repeatTime {
			return true
		}
	}
	return false
}

// seen is the last known state of Redis's memory of a team. A caller of Redis reads it before the call, and passes it
// to saw.
func (l *losses) seen(team string) memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memories[team]
}

// saw notes Redis's memory from a reply, and whether something of it was lost since before the call. A loss is reported once, by
// the first caller that notices it.
func (l *losses) saw(team string, before, now memory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.memories[team]
	switch {
	case now.older(before) && now.older(last):
		l.lost[team] = true
		l.away[team] = l.now() // other replicas have not restored what they know yet
		l.memories[team] = now
	case now.epoch == last.epoch:
		l.memories[team] = memory{now.epoch, max(now.count, last.count)}
	case last.epoch == before.epoch:
		l.memories[team] = now
	}
}

// number notes the number of Redis's memory. If it has changed, every team may have lost tasks. The counts of claims
// do not always show that: other replicas may write as many new claims as were lost before this one looks.
func (l *losses) number(now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.known; before == now {
		return
	} else if l.known = now; before == 0 {
		return
	}
	l.away[""] = l.now()
	for team := range l.memories {
		l.lost[team] = true
	}
}

// watch adds teams whose memory is checked from now on.
func (l *losses) watch(teams []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, team := range teams {
		if _, known := l.memories[team]; !known {
			l.memories[team] = memory{}
		}
	}
}

// watched lists the teams whose memory is checked, and its last known state. The first is a dummy team, so that a
// process without teams still probes Redis.
func (l *losses) watched() (teams []string, last []memory) {
	teams, last = []string{""}, []memory{{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	for team, m := range l.memories {
		teams, last = append(teams, team), append(last, m)
	}
	return teams, last
}

// hasLost reports whether tasks of a team are known to be lost, and not to be restored yet.
func (l *losses) hasLost(team string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost[team]
}

// takeLost returns the teams that have lost tasks, and forgets them.
func (l *losses) takeLost() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := l.lost
	l.lost = map[string]bool{}
	return lost
}

// readMemory reads Redis's memory from a reply, and how long ago a claim was last restored there; below 0: never.
func readMemory(reply any) (m memory, restored time.Duration, err error) {
	values, _ := reply.([]any)
	if len(values) != 3 {
		return m, 0, errMixed
	}
	m.epoch, _ = values[0].(string)
	count, _ := values[1].(string)
	m.count, _ = strconv.ParseInt(count, 10, 64)
	text, ever := values[2].(string)
	if !ever {
		return m, -1, nil
	}
	micros, err := strconv.ParseInt(text, 10, 64)
	return m, time.Duration(max(micros, 0)) * time.Microsecond, err
}
