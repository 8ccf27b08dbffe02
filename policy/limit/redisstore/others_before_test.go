package redisstore

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// What a replica of the version before held for a key among the others is given back there, and is counted for the key once the key has a
// name of its own.
func TestWhatTheVersionBeforeHeldAmongTheOthers(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	team := limittest.Team(f, keyLines(", quotas: {tokens: {day: 50, month: 50}}", ""))
	day := fmt.Sprintf("sl1:{search}:use:%d:keys", limit.CalendarOf(f.clock.Now()).Day)
	ctx, before := t.Context(), namedHold("before", keyOne, team, false, 20)
	f.admit(before)
	f.admit(namedHold("too", keyOne, team, false, 9))
	// As that version leaves them on a day with a thousand names.
	f.client.HDel(ctx, day, "#"+keyOne, keyOne+"||requests|held", keyOne+"||tokens|held")
	f.client.HSet(ctx, day, "#", 1000, "other||requests|held", 2, "other||tokens|held", 29)
	f.settle(f.held(before), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 20}, false)
	if held, err := f.client.HGet(ctx, day, "other||tokens|held").Int(); err != nil || held != 9 {
		t.Fatalf("%d held, %v", held, err)
	}
	f.admit(namedHold("after", keyOne, team, false, 5))
	f.clock.Move(time.Second)
	f.sweep("search")
	own, err := f.client.HGet(ctx, day, keyOne+"||tokens|held").Int()
	if other := f.client.HExists(ctx, day, "other||tokens|held").Val(); err != nil || own != 14 || other {
		t.Errorf("%d held, %v; the others' too: %v", own, err, other)
	}
}
