package limit

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
)

//go:embed scripts/adjust.lua
var adjustLua string

var adjustScript = redis.NewScript(commonLua + adjustLua)

// AdjustedModel is the name under which the ledger has corrections.
const AdjustedModel = "adjustment"

// Adjustment is a correction that was posted, or could not be.
type Adjustment struct {
	Done               bool // false: the month has not used so much, and nothing was changed
	DayBefore, Day     int64
	MonthBefore, Month int64
}

// Adjust corrects what a team used in the running day and month, and the ledger, by delta, which may be below 0. id
// makes it happen once, and why is kept with it for as long as the ledger.
func (r *Redis) Adjust(ctx context.Context, id, team string, unit policy.Unit, delta int64, why string) (a Adjustment, err error) {
	k := r.keysOf(team)
	reply, err := listOf(adjustScript.Run(ctx, r.client, []string{k.quota, k.hold + id},
		r.clock(), team, id, unitIndex(unit)+1, delta, k.ledger, why, ledgerDays*24*60*60))
	if err != nil {
		return a, err
	}
	in := replyReader{list: reply}
	if in.text() != id {
		return a, errMixed
	}
	a.Done = in.number() == 1
	a.DayBefore, a.Day, a.MonthBefore, a.Month = in.number(), in.number(), in.number(), in.number()
	return a, in.err
}
