package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// requestID is the id of a request, a UUID of version 7.
func requestID(at time.Time, n int) string {
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return fmt.Sprintf("%s-%s-7000-8000-%012x", ms[:8], ms[8:], n*0x9e3779b1)
}

// charged is a request that was admitted, as it is charged.
func (f *form) charged(id string, team *teams.Team) *limit.Charge {
	f.Helper()
	h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
	f.admit(h)
	return &limit.Charge{Held: f.held(h), Team: team, Amounts: h.Amounts}
}

// usedMemory is how much memory Redis uses, in bytes.
func usedMemory(t *testing.T, client redis.UniversalClient) int64 {
	t.Helper()
	info, err := client.Info(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What Redis keeps of a settled request is at most what start-up counts with, at ten requests a second of a team as at three hundred.
func TestASettledRequestTakesFewBytes(t *testing.T) {
	for rate, requests := range map[int]int{10: 6000, 300: 18000} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			f := newRedisForm(t, limittest.RealRedis(t))
			team := limittest.Team(t)
			f.settle(f.charged("first", team).Held, team, limit.Amounts{limit.Requests: 1}, false)
			before := usedMemory(t, f.client)
			for n := 0; n < requests; {
				var charges []*limit.Charge
				for ; len(charges) < 10; n++ {
					charges = append(charges, f.charged(requestID(f.clock.Now().Add(time.Duration(n)*time.Second/time.Duration(rate)), n), team))
				}
				for i, of := range f.redis.SettleAll(t.Context(), charges, true) {
					if !of.Done || of.Err != nil {
						t.Fatalf("charge %d: %+v", i, of)
					}
				}
			}
			each := float64(usedMemory(t, f.client)-before) / float64(requests)
			t.Logf("%.1f bytes", each)
			if each > SettledBytes {
				t.Errorf("a settled request takes %.1f bytes, more than %d", each, SettledBytes)
			}
			keys, err := f.client.Keys(t.Context(), "*").Result()
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				if left := f.client.PTTL(t.Context(), key).Val(); strings.Contains(key, ":settled:") &&
					(left > Remembered || left < Remembered-time.Minute) {
					t.Errorf("%s stays for %v", key, left)
				}
			}
		})
	}
}

// A settlement whose reply was lost is sent again, maybe on another day's batch, and charges nothing: neither of a hold that Redis notes
// as settled, nor of one that its process still believes open when Redis's memory goes back.
func TestANotedHoldIsNotChargedAgain(t *testing.T) {
	for _, permitted := range []bool{true, false} {
		t.Run(fmt.Sprintf("APPEND permitted %t", permitted), func(t *testing.T) {
			f := newRedisForm(t, limittest.RealRedis(t))
			team := limittest.Team(t)
			if !permitted { // as before
				batch := batchScript
				defer func() { batchScript = batch }()
				batchScript = scriptOf(strings.Replace(batch.source, "redis.pcall('APPEND', minute, text)", "redis.pcall('FORBIDDEN')", 1))
			}
			now := f.clock.Now()
			charges := []*limit.Charge{f.charged(requestID(now, 1), team), f.charged(requestID(now, 2), team),
				f.charged(requestID(now.Add(-time.Hour), 3), team),
				f.charged(requestID(now, 1)+"@spare", team), f.charged("short", team), f.charged("shorter", team)}
			const used = 2*limit.Tokens + 1
			for n, c := range charges {
				for range 2 {
					came := f.redis.SettleAll(t.Context(), []*limit.Charge{c}, true)[0]
					if st := f.look(team); came.Err != nil || st.Used[used] != int64(10*(n+1)) || st.Held[used] != int64(10*(len(charges)-n-1)) {
						t.Fatalf("%s: %+v, %d used and %d held", c.Held.ID, came, st.Used[used], st.Held[used])
					}
				}
			}
			f.redis.teams.Get(team.ID).placed(charges[0].Held, now.Add(time.Hour))
			f.client.HSet(t.Context(), "sl1:{search}:quota", "seq", 1)
			if err := f.redis.Restore(t.Context(), team.ID, Loss{}); err != nil {
				t.Fatal(err)
			}
			if st := f.look(team); st.Held[used] != 0 || st.Used[used] != int64(10*len(charges)) {
				t.Errorf("restored: %d used and %d held", st.Used[used], st.Held[used])
			}
		})
	}
}
