package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// Old data is deleted, so that a team's admissions stay as fast as on its first day; the amounts held on a day stay until
// they are settled.
func TestSweepForgets(t *testing.T) {
	limittest.Redises(t, func(t *testing.T, client redis.UniversalClient) {
		f := newRedisForm(t, client)
		team := limittest.Team(t, "quotas: {tokens: {month: 1000000}}")
		var last *limit.Held
		for n := range 80 {
			h := hold(id(n), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10, limit.Images: 1, limit.Spend: 5})
			h.Lease = 200 * 24 * time.Hour
			f.admit(h)
			if last = f.held(h); n != 20 {
				f.settle(last, team, h.Amounts, false)
			}
			f.sweep(team.ID)
			f.clock.Move(24 * time.Hour)
		}
		fields := client.HLen(t.Context(), keysOf(team.ID).quota).Val()
		if fields > 5+9*4+4*2*4+2*4 { // a week's, four months', what day 20 holds
			t.Errorf("%d fields are left", fields)
		}
		old := hold(id(20), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10, limit.Images: 1, limit.Spend: 5})
		held := f.held(old)
		held.Day, held.Month = 0, 0 // Redis knows
		f.settle(held, team, old.Amounts, false)
		for name, value := range client.HGetAll(t.Context(), keysOf(team.ID).quota).Val() {
			if strings.HasPrefix(value, "-") {
				t.Errorf("%s is %s", name, value)
			}
		}
	})
}
