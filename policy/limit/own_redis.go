package limit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
)

const (
	restoreBatch = 200  // holds that are put back in one call, so that it keeps Redis from nobody
	checkBatch   = 1000 // that are looked at in one call
)

func (r *Redis) ownOf(team string) *own {
	if o, ok := r.own.Load(team); ok {
		return o.(*own)
	}
	o, _ := r.own.LoadOrStore(team, newOwn())
	return o.(*own)
}

// restore puts back what this process knows of a team whose accounts are gone: what it used, where the state knows less, and
// what this process holds. Nobody here asks for the team before all of it is there.
func (r *Redis) restore(ctx context.Context, team string, last *state) error {
	o := r.ownOf(team)
	select {
	case o.restoring <- struct{}{}:
		defer func() { <-o.restoring }()
	case <-ctx.Done(): // no request waits longer for this than for Redis
		return ctx.Err()
	}
	if now, ok := r.lastState(team); ok && now.epoch != last.epoch {
		return nil // another call has done it
	}
	r.lost.Add(1)
	known := last
	var epoch int64
	for list := o.all(); known != nil || len(list) > 0; known = nil {
		n := min(restoreBatch, len(list))
		var err error
		if epoch, err = r.restoreSome(ctx, team, known, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	again := *last
	again.epoch = epoch
	r.known.Store(team, &again)
	return nil
}

// restoreSome puts back what was used, if that is told, and some holds, each by its id. It returns the epoch of the accounts.
// What is held again was taken from none of the rates that there are now.
func (r *Redis) restoreSome(ctx context.Context, team string, known *state, holds []ownHold) (int64, error) {
	k, number := r.keysOf(team), newNumber()
	call := append(restoreScript.call(2+len(holds), 6+2*quotaCount+3*len(holds)), k.quota, k.open)
	for _, h := range holds {
		call = append(call, k.hold+h.ID)
	}
	call = append(call, r.clock(), team, newNumber(), number, k.ledger, 0)
	counts := len(call)
	if known != nil {
		for q, used := range known.used {
			if used > 0 {
				call = append(call, strconv.Itoa(known.date.period(q))+":"+string(policy.Units[q/2])+":used", used)
			}
		}
	}
	call[counts-1] = (len(call) - counts) / 2
	for _, h := range holds {
		if h.due.IsZero() {
			call = append(call, h.ID, 0, "")
		} else {
			call = append(call, h.ID, h.due.UnixMicro(), h.text(0))
		}
	}
	reply, err := restoreScript.run(ctx, r.client, call)
	epoch, err := said(number, reply, err, 1)
	if err != nil {
		return 0, err
	}
	return epoch[0], nil
}

// checkOwn looks which of the holds that this process placed others have ended. It reports where the accounts that this
// process knows are gone, which tells nothing of their holds.
func (r *Redis) checkOwn(ctx context.Context, team string) (lost bool, err error) {
	last, met := r.lastState(team)
	if !met {
		return false, nil
	}
	k, o := r.keysOf(team), r.ownOf(team)
	ids := o.ids()
	if len(ids) == 0 {
		o.walked(nil)
		return false, nil
	}
	pipe := r.client.Pipeline()
	var texts []*redis.SliceCmd
	for chunk := range slices.Chunk(ids, checkBatch) {
		keys := make([]string, len(chunk))
		for i, id := range chunk {
			keys[i] = k.hold + id
		}
		texts = append(texts, pipe.MGet(ctx, keys...))
	}
	epoch := pipe.HGet(ctx, k.quota, "epoch") // behind them: what they tell is of this epoch
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	if n, _ := epoch.Int64(); n != last.epoch {
		return true, nil
	}
	var gone []string
	for i, id := range ids {
		text, _ := texts[i/checkBatch].Val()[i%checkBatch].(string)
		if !strings.HasPrefix(text, "held ") {
			gone = append(gone, id)
		}
	}
	o.walked(gone)
	return false, nil
}
