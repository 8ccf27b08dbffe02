package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// At the start an operator is told of a Redis that keeps nothing, or too little for the teams there are; of one that keeps
// all nothing is said.
func TestMend23ARedisThatKeepsTooLittleIsToldOf(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	manyTeams := "teams:\n"
	for n := range 50 {
		manyTeams += fmt.Sprintf("  - id: team%d\n    rates: {requests: {per: 1s, limit: 20}}\n", n)
	}
	const forgets, small = "Redis appends to no file", "maxmemory of Redis is 64MiB, and the teams of the teams file may need 149MiB"
	appends, snapshot := []string{"--appendonly", "yes"}, func(s *redisServer) {
		s.do("BGSAVE")
		wait(t, "the snapshot is taken", func() bool {
			return !strings.Contains(s.do("INFO", "persistence").(string), "rdb_last_bgsave_time_sec:-1")
		})
	}
	for what, tt := range map[string]struct {
		args   []string
		before func(s *redisServer)
		teams  string
		want   []string
	}{
		"as it comes":       {nil, nil, someTeams, []string{forgets}},
		"append-only":       {appends, nil, manyTeams, nil},
		"snapshots":         {nil, snapshot, manyTeams, nil},
		"small, few teams":  {append(appends, "--maxmemory", "64mb"), nil, someTeams, nil},
		"small, many teams": {append(appends, "--maxmemory", "64mb"), nil, manyTeams, []string{small}},
		"both":              {[]string{"--maxmemory", "64mb"}, nil, manyTeams, []string{forgets, small}},
	} {
		t.Run(what, func(t *testing.T) {
			server := startRedis(t, tt.args...)
			if tt.before != nil {
				tt.before(server)
			}
			h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, tt.teams), "SLUICE_REDIS_URL="+server.url())
			h.stop()
			said := string(h.log.bytes())
			if n := strings.Count(said, `"msg":"redis","warning"`); n != len(tt.want) {
				t.Errorf("%d warnings, want %d", n, len(tt.want))
			}
			for _, text := range tt.want {
				if !strings.Contains(said, text) {
					t.Errorf("%q is not said:\n%s", text, said)
				}
			}
		})
	}
}

// What Redis says of itself is read, also of a server that hides some of it; of several nodes the worst counts.
func TestRedisFacts(t *testing.T) {
	keeps := redisFacts{policy: "noeviction", memory: 100, appends: true}
	for info, want := range map[string]redisFacts{
		"maxmemory:100\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nrdb_last_bgsave_time_sec:-1\r\n": keeps,
		"maxmemory_policy:allkeys-lru\r\n": {policy: "allkeys-lru", hidden: true},
		"uptime_in_seconds:60\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\nrdb_last_bgsave_time_sec:-1": {policy: "noeviction", up: time.Minute},
		"maxmemory_policy:noeviction\r\naof_enabled:0\r\nrdb_last_bgsave_time_sec:3":                          {policy: "noeviction", snapshots: true},
		"maxmemory_policy:noeviction\r\naof_enabled:0\r\nrdb_last_load_keys_loaded:7":                         {policy: "noeviction", snapshots: true},
	} {
		if got := readRedisFacts(info); got != want {
			t.Errorf("%q: %+v, want %+v", info, got, want)
		}
	}
	evicts := redisFacts{policy: "volatile-lru", memory: 50}
	for _, got := range []redisFacts{keeps.with(evicts), evicts.with(keeps)} {
		if got.policy != "volatile-lru" || got.memory != 150 || !got.forgets() {
			t.Errorf("together they are %+v", got)
		}
	}
	if got := keeps.with(redisFacts{policy: noEviction, snapshots: true}); got.forgets() || got.memory != 0 || len(got.warnings(1<<40)) > 0 {
		t.Errorf("together they are %+v", got)
	}
}
