package main

import (
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/simulator"
)

// At the start a warning tells of a Redis that keeps nothing, or has too little memory for the teams; a sound Redis causes
// none.
func TestARedisThatKeepsTooLittleIsToldOf(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	manyTeams := "teams:\n"
	for n := range 50 {
		manyTeams += fmt.Sprintf("  - id: team%d\n    rates: {requests: {per: 1s, limit: 20}}\n", n)
	}
	const forgets, small = "Redis appends to no file", "maxmemory of Redis is 64MiB, and the teams of the teams file may need 167MiB"
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
					t.Errorf("%q is missing:\n%s", text, said)
				}
			}
		})
	}
}
