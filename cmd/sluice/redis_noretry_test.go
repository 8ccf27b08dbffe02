package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/gateway/simulator"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// lossy is a cluster of one node behind a proxy that on command loses replies and their connections.
type lossy struct {
	*redisServer
	url   string
	loses atomic.Pointer[string] // the beginning of the lost replies; nil: none
}

func startLossy(t *testing.T) *lossy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	announced := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	l := &lossy{url: "redis+cluster://" + listener.Addr().String(), redisServer: startRedis(t, "--cluster-enabled", "yes",
		"--cluster-config-file", "nodes.conf", "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", announced)}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go l.pass(client)
		}
	}()
	l.do("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	wait(t, "the cluster stands", func() bool { return strings.Contains(l.do("CLUSTER", "INFO").(string), "cluster_state:ok") })
	return l
}

func (l *lossy) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", l.address())
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	for buffer := make([]byte, 64<<10); ; {
		n, err := server.Read(buffer)
		if lost := l.loses.Load(); err != nil || lost != nil && strings.HasPrefix(string(buffer[:n]), *lost) {
			return
		}
		_, _ = client.Write(buffer[:n])
	}
}

func (l *lossy) lose(replies string) { l.loses.Store(&replies) }

// A cluster's client never repeats a command whose reply was lost, whether by itself or in a pipeline.
func TestClusterSendsNothingTwice(t *testing.T) {
	t.Parallel()
	server := startLossy(t)
	k := openReplica(t, server.url, nil, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) && k.well() })
	server.lose(":")
	alone := k.redis.Incr(t.Context(), "{n}:alone").Err()
	_, together := k.redis.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		pipe.Incr(t.Context(), "{n}:first")
		return pipe.Incr(t.Context(), "{n}:second").Err()
	})
	if alone == nil || together == nil {
		t.Errorf("no reply was lost: %v, %v", alone, together)
	}
	for _, key := range []string{"{n}:alone", "{n}:first", "{n}:second"} {
		if sent := server.do("GET", key); sent != "1" {
			t.Errorf("%s was sent %v times", key, sent)
		}
	}
}

// Several calls run in a node of a cluster and lose their replies, which opens its guard. None of them gets the error for a
// call that was not sent.
func TestClusterLosesRepliesOfSeveral(t *testing.T) {
	t.Parallel()
	server := startLossy(t)
	k := openReplica(t, server.url, nil)
	k.eventually(patience, "connected", func() bool { return k.spend(10) && k.well() })
	server.lose("*")
	var asking sync.WaitGroup
	for n := range 12 {
		asking.Go(func() {
			id := fmt.Sprintf("placed-%d", n)
			_, _, err := k.Store.Place(t.Context(), &limit.Hold{
				ID: id, Team: k.team, Model: "llm-max", Endpoint: policy.EndpointText, Amounts: limit.Amounts{limit.Requests: 1}, Lease: time.Minute,
			}, &redisstore.Loan{})
			if errors.Is(err, limit.ErrAway) && server.do("EXISTS", "sl1:{search}:hold:"+id) == int64(1) {
				t.Errorf("%s: %v, and Redis holds it", id, err)
			}
		})
	}
	asking.Wait()
}

// Each request is charged once if its admission ran in a node of a cluster and the reply was lost.
func TestClusterChargesOnceWhatLostItsReply(t *testing.T) {
	t.Parallel()
	server := startLossy(t)
	k := openReplica(t, server.url, nil)
	var asking sync.WaitGroup
	var admitted atomic.Int64
	k.eventually(patience, "connected", func() bool { // it may take several requests
		if k.spend(10) {
			admitted.Add(10)
		}
		return admitted.Load() > 0 && k.well()
	})
	server.lose("*")
	for range 12 {
		asking.Go(func() {
			if k.spend(10) {
				admitted.Add(10)
			}
		})
	}
	asking.Wait()
	server.loses.Store(nil)
	k.eventually(patience, "back", k.well)
	var used, held int64
	defer func() { t.Logf("used %d, held %d, admitted %d", used, held, admitted.Load()) }()
	k.eventually(patience, "each is charged once", func() bool {
		used, held = k.used(server.redisServer, "tokens")
		return used == admitted.Load() && held == 0
	})
}

// The account's rates, which hold no id, are taken once although the reply is lost.
func TestClusterTakesTheAccountOnce(t *testing.T) {
	t.Parallel()
	server := startLossy(t)
	k := openReplica(t, server.url, nil)
	k.eventually(patience, "connected", func() bool { return k.spend(10) && k.well() })
	server.lose("*4\r\n") // replies of the account's script, not of the admission's
	_, _, err := k.Store.Place(t.Context(), &limit.Hold{
		ID: "one", Team: k.team, Model: "llm-max", Endpoint: policy.EndpointText, Amounts: limit.Amounts{limit.Requests: 1}, Lease: time.Minute,
		Outside: limit.OutsideFor(&teams.File{Account: []teams.AccountLimit{
			{Rates: []teams.Rate{{Unit: unit.NameRequests, Limit: 2, Burst: 10, Per: time.Hour, PerText: "1h"}}}}}, ""),
	}, &redisstore.Loan{})
	if err == nil {
		t.Error("no reply was lost")
	}
	var full int64
	if _, err := fmt.Sscan(server.do("GET", "sl1:account:{account}::requests").(string), &full); err != nil {
		t.Fatal(err)
	}
	if taken := time.Until(time.UnixMicro(full)).Round(30*time.Minute) / (30 * time.Minute); taken != 1 {
		t.Errorf("taken %d times", taken)
	}
}

// A start logs a warning if Redis is not persistent or has too little memory for the teams, and none otherwise.
func TestARedisThatKeepsTooLittleIsToldOf(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	manyTeams := "teams:\n"
	for n := range 50 {
		manyTeams += fmt.Sprintf("  - id: team%d\n    rates: {requests: {per: 1s, limit: 80}}\n", n)
	}
	const forgets, small = "Redis appends to no file", "maxmemory of Redis is 64MiB, and the teams of the teams file may need 176MiB"
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
