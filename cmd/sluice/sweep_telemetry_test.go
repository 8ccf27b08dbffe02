package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/gateway/simulator"
	"sluice/policy/teams"
)

// A collector, the metrics page and Redis have each canary only where it belongs: a client's trace id in the
// links of spans, prompts in spans if the operator switched that on, and nothing anywhere else.
func TestSweepOfTelemetryAndRedis(t *testing.T) {
	for _, capture := range []string{"false", "true"} {
		t.Run("capture="+capture, func(t *testing.T) {
			minted, err := teams.MintKey(rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			teamKey := minted.Reveal()
			collector := collecting(t, nil)
			server := startRedis(t)
			server.do("ACL", "SETUSER", "sluice", "on", ">"+canaries.redis, "~*", "+@all")
			service, upstream := newService(t, simulator.Config{})
			service.SetKeys(canaries.upstreamKey)
			h := serving(t, upstream.URL, "SLUICE_UPSTREAM_KEY="+canaries.upstreamKey, "SLUICE_REDIS_URL=redis://sluice:"+canaries.redis+"@"+server.address(),
				"SLUICE_LOG_LEVEL=debug", "SLUICE_FORWARD_PATHS=uploads", "SLUICE_CAPTURE_CONTENT="+capture, "SLUICE_REDIS_TIMEOUT=2s",
				"SLUICE_TEAMS_FILE="+write(t, "teams:\n  - id: search\n    endpoints: [text, multimodal, image, tasks, other]\n    keys:\n"+minted.Lines()))
			client := newClient(t)
			base := "http://" + h.public
			visit(t, client, base, teamKey)
			for _, code := range []string{"Arrearage", canaries.upstreamKey} { // a service that is hostile, or broken
				service.SetFault(simulator.Fault{Error: &simulator.FaultError{Status: 400, Code: code, Message: "The key " + canaries.upstreamKey + " is overdue."}})
				visit(t, client, base, teamKey)
			}
			service.SetFault(simulator.Fault{Drop: "reset"})
			visit(t, client, base, teamKey)
			page := h.page(t)
			client.CloseIdleConnections()
			if code := h.stop(); code != exitClean {
				t.Errorf("exit code %d", code)
			}
			c := canaries
			never := []string{c.upstreamKey, c.redis, c.picture, c.query, c.cookie, c.wrongKey, c.agent, c.address, c.requestID, teamKey}
			prompts := append([]string{c.prompt}, never...)
			sweep(t, "the page", page, append([]string{c.trace}, prompts...)...)
			sweep(t, "Redis", server.everything(), append([]string{c.trace}, prompts...)...)
			sweep(t, "the log", string(h.log.bytes()), append([]string{simulator.LeakMark}, prompts...)...)
			sent := collector.raw.String()
			sweep(t, "what the collector got", sent, never...)
			if shows := betrayed(sent, c.prompt) != ""; shows != (capture == "true") {
				t.Errorf("prompts are sent: %v", shows)
			}
			if len(collector.names()) < 40 || len(collector.logs) < 40 || len(collector.metrics) < 10 || len(server.everything()) < 500 {
				t.Errorf("too little was swept: %d spans, %d log records, %d metrics, %d bytes of Redis", len(collector.names()), len(collector.logs), len(collector.metrics), len(server.everything()))
			}
		})
	}
}

// everything is the server's whole data, names and values.
func (s *redisServer) everything() string {
	s.Helper()
	ctx, all := context.Background(), new(strings.Builder)
	keys, err := s.admin.Keys(ctx, "*").Result()
	if err != nil {
		s.Fatal(err)
	}
	for _, key := range keys {
		var value any
		switch kind, _ := s.admin.Type(ctx, key).Result(); kind {
		case "string":
			value, err = s.admin.Get(ctx, key).Result()
		case "hash":
			value, err = s.admin.HGetAll(ctx, key).Result()
		case "zset":
			value, err = s.admin.ZRangeWithScores(ctx, key, 0, -1).Result()
		case "set":
			value, err = s.admin.SMembers(ctx, key).Result()
		case "stream":
			value, err = s.admin.XRange(ctx, key, "-", "+").Result()
		case "none": // it has expired
		default:
			s.Errorf("%s is a %s, a type that this test cannot read", key, kind)
		}
		if err != nil && err != redis.Nil {
			s.Errorf("%s: %v", key, err)
		}
		fmt.Fprintln(all, key, value)
	}
	return all.String()
}
