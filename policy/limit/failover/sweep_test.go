package failover

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// swept ends a team's expired holds as the process does, a minute later.
func (s *harness) swept() {
	s.Helper()
	s.clock.Move(time.Minute)
	if err := s.Maintain(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// free checks that a team has no open holds, and how many images it used.
func (s *harness) free(team *teams.Team, images int64) {
	s.Helper()
	st := s.look(team)
	if st.Used[2*limit.Images+1] != images || st.Held != [limit.QuotaCount]int64{} || st.Tasks != 0 {
		s.Errorf("%d images used, want %d; held %v and %d open tasks, want none", st.Used[2*limit.Images+1], images, st.Held, st.Tasks)
	}
}

func taskHold(id string, team *teams.Team) *limit.Hold {
	h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
	h.Task, h.Lease = true, 25*time.Hour
	return &h
}

// No process sweeps for longer than a lease and a day. The holds are charged all the same, and the open task ends.
func TestNobodySweepsForDays(t *testing.T) {
	server, client := limittest.AgedRedis(t)
	s := newHarness(t, client, nil)
	team := limittest.Team(t, "quotas: {images: {month: 100}}", "open_tasks: 2")
	for _, id := range []string{"a", "b"} {
		if v, err := s.Failover.Admit(t.Context(), taskHold(id, team)); err != nil || v.Held == nil {
			t.Fatal(v, err)
		} else if err := s.Store.Extend(t.Context(), v.Held, 25*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	s.clock.Move(4 * 24 * time.Hour)
	server.FastForward(4 * 24 * time.Hour)
	s.swept()
	s.free(team, 8)
}

// A process that could not reach Redis for 26 hours posts its charge all the same, whether or not another has charged the
// hold as estimated meanwhile.
func TestCutOffFor26Hours(t *testing.T) {
	for _, swept := range []bool{false, true} {
		server, client := limittest.AgedRedis(t)
		s := newHarness(t, client, nil)
		team := limittest.Team(t, "quotas: {images: {month: 100}}")
		h := hold(idAt(s.clock.Now(), 1), team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		h.Lease = 10 * time.Minute
		v, err := s.Failover.Admit(t.Context(), &h)
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		s.fault.mode.Store(away)
		s.charge(v.Held, team, limit.Amounts{limit.Requests: 1, limit.Images: 3})
		s.settled()
		beside := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
		other := storeAt(beside, s.clock)
		for range 26 {
			s.clock.Move(time.Hour)
			server.FastForward(time.Hour)
			if swept {
				if _, err := other.Sweep(t.Context(), team.ID, 10); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = beside.Close()
		s.back()
		s.free(team, 3)
	}
}

// A hold without a key, as an older version wrote it, and one that an older version left held for ever, block no request:
// the held amounts are counted again from the existing holds.
func TestWhatIsHeldIsCountedAgain(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		ctx, team := s.Context(), limittest.Team(s, "quotas: {images: {month: 100}}", "open_tasks: 9")
		for _, id := range []string{"gone", "stays", "swept by an admission"} {
			if v, err := s.Failover.Admit(ctx, taskHold(id, team)); err != nil || v.Held == nil {
				s.Fatal(v, err)
			}
		}
		s.swept()
		quota := "sl1:{search}:quota"
		s.client.Del(ctx, "sl1:{search}:hold:"+"gone", "sl1:{search}:hold:"+"swept by an admission")
		s.client.ZAdd(ctx, "sl1:{search}:open", redis.Z{Score: 1, Member: "swept by an admission"})
		s.must("an admission", team, limit.Amounts{})
		s.client.ZAdd(ctx, "sl1:{search}:open", redis.Z{Score: 1, Member: "gone"})
		s.swept()
		if st := s.look(team); st.Held[2*limit.Images+1] != 4 || st.Tasks != 1 {
			s.Errorf("%d images and %d tasks are held, want those of the one that stays", st.Held[2*limit.Images+1], st.Tasks)
		}
		s.client.HDel(ctx, quota, "counted")                  // an older version's accounts
		s.client.HIncrBy(ctx, quota, "202611:images:held", 8) // it lost two holds
		s.client.HIncrBy(ctx, quota, "tasks", 2)
		s.client.PExpire(ctx, "sl1:{search}:hold:"+"stays", time.Hour)
		s.swept()
		if st := s.look(team); st.Held[2*limit.Images+1] != 4 || st.Tasks != 1 {
			s.Errorf("%d images and %d tasks are held, want those of the one that stays", st.Held[2*limit.Images+1], st.Tasks)
		}
		if left := s.client.PTTL(ctx, "sl1:{search}:hold:"+"stays").Val(); left >= 0 {
			s.Errorf("an open hold expires in %v", left)
		}
	})
}

// Redis keeps little of a settled task's hold, for a time that does not depend on its lease.
func TestASettledTaskIsSmall(t *testing.T) {
	client := limittest.RealRedis(t)
	s := newHarness(t, client, nil)
	ctx, team := t.Context(), limittest.Team(t)
	size := func(id string) int64 { return client.MemoryUsage(ctx, "sl1:{search}:hold:"+id).Val() }
	settle := func(h *limit.Held) time.Duration {
		before := size(h.ID)
		s.charge(h, team, h.Amounts)
		s.settled()
		after := size(h.ID)
		t.Logf("%d bytes open, %d settled", before, after)
		if after == 0 || 5*after > 3*before {
			t.Errorf("%d bytes of %d are kept", after, before)
		}
		return client.PTTL(ctx, "sl1:{search}:hold:"+h.ID).Val().Round(time.Second)
	}
	for n, lease := range []time.Duration{time.Hour, 100 * time.Hour} {
		h := taskHold(idAt(s.clock.Now(), 2+n), team)
		h.Lease = lease
		v, err := s.Failover.Admit(ctx, h)
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		if left := settle(v.Held); left != 49*time.Hour {
			t.Errorf("a task's is kept for %v", left)
		}
	}
}

// The list of teams is lost with one shard of a cluster, while the teams' own data stays. Any replica that knows a team
// lists it again, even an idle one, and reports over all teams have their rows.
func TestTheListOfTeamsIsWrittenAgain(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		ctx, team := s.Context(), limittest.Team(s)
		s.client.SAdd(ctx, "sl1:teams", "removed") // in no teams file, only in the list
		s.charge(s.must("a", team, limit.Amounts{limit.Requests: 1}), team, limit.Amounts{limit.Requests: 1})
		s.settled()
		if err := s.Maintain(ctx); err != nil {
			s.Fatal(err)
		}
		s.client.Del(ctx, "sl1:teams")
		if rows, _ := s.Rows(ctx, limit.Query{Days: []int{20261121}}); len(rows) != 0 {
			s.Fatalf("the list is not lost: %+v", rows)
		}
		s.clock.Move(time.Minute)
		if err := s.Maintain(ctx); err == nil || !strings.Contains(err.Error(), "list of teams") {
			s.Errorf("the loss is not reported: %v", err)
		}
		if err := s.Maintain(ctx); err != nil {
			s.Errorf("told again: %v", err)
		}
		if rows, err := s.Rows(ctx, limit.Query{Days: []int{20261121}}); err != nil || len(rows) != 1 || rows[0].Team != "search" {
			s.Errorf("the report has %+v, %v", rows, err)
		}
		names, err := s.client.SMembers(ctx, "sl1:teams").Result()
		if slices.Sort(names); err != nil || !slices.Equal(names, []string{"removed", "search"}) {
			s.Errorf("the list has %q, %v", names, err)
		}
	})
}
