package redisstore

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// failing fails round trips of several calls as the library may: without telling the calls.
type failing struct{ with error }

func (f failing) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (f failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (f failing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) == 1 { // a connection's first words
			return next(ctx, cmds)
		}
		return f.with
	}
}

// chargesOfSeveral are charges of holds of several teams, of which a round trip has a call each.
func chargesOfSeveral(f *form) (charges []*limit.Charge) {
	for n := range 7 {
		one := limit.Amounts{limit.Requests: int64(n + 1)}
		team := &teams.Team{ID: "t" + id(n)}
		charges = append(charges, &limit.Charge{Held: f.ask(hold(id(n), team, one)).Held, Team: team, Amounts: one})
	}
	return charges
}

// Calls of one round trip have each its own reply, also where Redis does not know the script.
func TestCallsOfARoundTripHaveTheirOwnReplies(t *testing.T) {
	redisForms(t, func(f *form) {
		charges := chargesOfSeveral(f)
		f.client.ScriptFlush(f.Context())
		for n, came := range f.redis.SettleAll(f.Context(), charges, true) {
			if came.Err != nil || !came.Done {
				f.Errorf("%d: %+v", n, came)
			}
			if st := f.look(charges[n].Team); st.Used[2*limit.Requests] != int64(n+1) || st.Held[2*limit.Requests] != 0 {
				f.Errorf("%d: %d used, %d held", n, st.Used[2*limit.Requests], st.Held[2*limit.Requests])
			}
		}
	})
}

// F-R2: a round trip that fails fails all of its calls, as nothing else: no connection is taken for mixed up.
func TestFR2ARoundTripFails(t *testing.T) {
	redisForms(t, func(f *form) {
		charges := chargesOfSeveral(f)
		lost := errors.New("lost")
		f.client.AddHook(failing{lost})
		for n, came := range f.redis.SettleAll(f.Context(), charges, true) {
			if !errors.Is(came.Err, lost) || errors.Is(came.Err, errMixed) {
				f.Errorf("%d: %v", n, came.Err)
			}
		}
	})
}
