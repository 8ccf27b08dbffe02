package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// backMost is how many claims are put back in one turn.
	backMost = 500
	// backDue is how long nobody asks for a task that Redis lost, neither the finisher nor for a client: by then a replica
	// that knows of its end has put that back, and it is not charged again. What was charged before is known to replicas as a
	// sum, in which nobody would see that it is the same.
	backDue = 30 * time.Second
	// tellTime is by when every replica has told Redis what it kept, once Redis is back: it sees that within a breaker's probe
	// (250 ms) and tells within a turn of Tend (1 s), and so many claims as are kept take some seconds more. That Redis was
	// away is seen a turn late, too.
	tellTime = 10 * time.Second
)

// errUntold is why an unknown task is not denied yet.
var errUntold = errors.New("Redis was away or lost tasks a moment ago, and another replica may not have told it of the task yet")

// missed notes that Redis could not be asked about a team; empty: about any.
func (r *Redis) missed(team string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away[team] = r.Now()
}

// untold reports whether another replica may know a task of the team that Redis does not know yet.
func (r *Redis) untold(team string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range [...]string{team, ""} {
		if at, ever := r.away[of]; ever && r.Now().Sub(at) < tellTime {
			return true
		}
	}
	return false
}

// look asks Redis what it remembers of the teams that are known here, which also tells whether it is there. What is known
// here of teams of which it has lost something is put back in this turn and the next ones; the error is the news of it.
func (r *Redis) look(ctx context.Context) error {
	teams, keys, before := r.toAsk()
	for i, got := range r.fieldsOf(ctx, keys, "epoch", "count") {
		switch {
		case got.err != nil || len(got.values) != 2:
			r.missed(teams[i])
		case teams[i] != "":
			r.saw(teams[i], before[i], readMemory(got.values[0], got.values[1]))
		}
	}
	r.mu.Lock()
	lost := r.lost
	r.lost = map[string]bool{}
	r.mu.Unlock()
	if len(lost) == 0 {
		return nil
	}
	claims := r.near.of(lost)
	r.back = append(r.back, claims...)
	// What has ended goes first: who finds it open would ask for it, and charge it again.
	slices.SortStableFunc(r.back, func(a, b *Claim) int { return cmp.Compare(flag(b.Final()), flag(a.Final())) })
	return fmt.Errorf("Redis lost tasks of %d teams; the %d that are known here are put back", len(lost), len(claims))
}

// toAsk lists the teams whose memory is looked at, and what was last seen of it; and one team that there never is: who
// knows none asks all the same whether Redis is there.
func (r *Redis) toAsk() (teams, keys []string, before []memory) {
	teams, keys, before = []string{""}, []string{memoryKey("")}, []memory{{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	for team, m := range r.memories {
		teams, keys, before = append(teams, team), append(keys, memoryKey(team)), append(before, m)
	}
	return teams, keys, before
}

// putBackSome puts back as many claims as one turn may. The first failure ends the turn.
func (r *Redis) putBackSome(ctx context.Context) {
	for n := 0; n < backMost && len(r.back) > 0; n++ {
		if r.putBack(ctx, r.back[0]) != nil {
			return
		}
		r.back = r.back[1:]
	}
}

// putBack tells Redis of a claim as it is known here by now. Where another replica was first, only an end is news.
func (r *Redis) putBack(ctx context.Context, claim *Claim) error {
	claim = r.latest(claim)
	if r.Now().Sub(claim.Created) > r.kept(claim) {
		return nil
	}
	if _, err := r.owner(ctx, claim); err != nil { // Redis may have lost whose it is, too
		return err
	}
	first, err := r.write(ctx, claim, backDue, true)
	if err == nil && !first && claim.Final() {
		_, err = r.tell(ctx, claim, claim.Answer, claim.Body, claim.Asks)
	}
	return err
}

// rest lets nobody ask for a task that Redis lost. What fails is noticed at the next look.
func (r *Redis) rest(ctx context.Context, claim *Claim) {
	_, _ = r.setFirst(ctx, askingKey(claim.Team, claim.Task), turnResting, backDue)
}
