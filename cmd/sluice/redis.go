package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/cmd/sluice/redisclient"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// openRedis opens the client of the settings' Redis, whose address validate has checked. need is how many bytes of Redis's
// memory the teams may take; 0: not known.
func openRedis(s settings, log *slog.Logger, metrics *telemetry.Metrics, need int64) *redisclient.Client {
	address, _ := redisclient.ParseAddress(s.RedisURL.Reveal())
	return redisclient.Open(redisclient.Config{
		Address: address, Reread: s.rereadRedis, Timeout: s.RedisTimeout, KeyPrefix: cache.KeyPrefix, Log: log,
		Away: limit.ErrAway, Busy: limit.ErrBusy, Aside: errAside,
		Measure: metrics.Redis,
		Learned: func(f redisclient.Facts) {
			for _, warning := range redisWarnings(f, need) {
				log.Warn("redis", "warning", warning)
			}
		},
	})
}

// errAside is the error of a call for the console or the admin listener that was not sent because such calls have failed lately. It tells
// the accounts nothing: they have a breaker of their own.
var errAside = fmt.Errorf("%w: it did not answer the console lately", limit.ErrBusy)

// forPeople makes a server's requests ask Redis over connections of their own, so that looking on delays no team's request.
func forPeople(server *http.Server) {
	server.BaseContext = func(net.Listener) context.Context { return redisclient.Aside(context.Background()) }
}

// rereadRedis reads the address from its file again, which may have a new password by now.
func (s *settings) rereadRedis() (a redisclient.Address, ok bool) {
	if s.RedisURLFile == "" {
		return a, false
	}
	secret, err := readSecret(s.RedisURLFile)
	if err != nil {
		return a, false
	}
	return redisclient.ParseAddress(secret.Reveal())
}

// sharedAccounts are the accounts in Redis.
func sharedAccounts(c *redisclient.Client, s settings, log *slog.Logger, now func() time.Time) *failover.Failover {
	store := redisstore.New(c)
	store.OnDesync, store.Cluster = c.DropConnections, c.IsCluster()
	accounts := failover.New(failover.Config{
		Store: store, Timeout: s.RedisTimeout, Refuse: s.OnStateLoss == stateRefuse, Replicas: s.Replicas, Bridge: s.OutageBridge, Now: now,
		Changed: func(away bool, lasted time.Duration) {
			if away {
				log.Error("Redis is away")
			} else {
				log.Warn("Redis is back", slog.String("after", lasted.Round(time.Millisecond).String()))
			}
		},
		Miscounted: func(err error) { log.Warn("replicas", "error", err.Error()) }, // other replicas are alive than the settings say
	})
	c.OnConnect(accounts.Connected)
	return accounts
}

// redisWarnings are about a Redis that may lose its data, or has less memory than the teams may need.
func redisWarnings(f redisclient.Facts, need int64) (list []string) {
	if f.Forgets() {
		list = append(list, fmt.Sprintf("Redis appends to no file and has taken no snapshot in the %s since its start: usage, holds and tasks are lost when it ends; "+
			"set appendonly yes with appendfsync everysec", f.Uptime))
	}
	if f.MaxMemory > 0 && f.MaxMemory < need {
		list = append(list, fmt.Sprintf("maxmemory of Redis is %s, and the teams of the teams file may need %s: when its memory is full, Redis counts as away; "+
			"raise maxmemory", byteSize(f.MaxMemory), byteSize(need)))
	}
	return list
}

// The memory that a team takes of Redis, in bytes, rounded up from measurements.
const (
	ledgerBytes  = 400 << 10 // four hundred days of its ledger, three models each
	accountBytes = 8 << 10   // its rates, quotas and list of tasks
	minutesBytes = 200 << 10 // two days of its counts by minute
	recentBytes  = 8 << 20   // the last requests of all teams
	settledBytes = 150       // a settled request's hold
)

// settledFor is how long that hold is kept.
const settledFor = 15 * time.Minute

// redisNeed is how many bytes of Redis's memory the accounts of the teams may take, in whole MiB, where teams use all that
// their rates allow. Tasks are left out: no rate says how many of them a team makes.
func redisNeed(file *teams.File) (bytes int64) {
	bytes = recentBytes
	for _, team := range file.List {
		bytes += ledgerBytes + accountBytes + minutesBytes
		for _, r := range team.Rates {
			if r.Unit == teams.UnitRequests {
				bytes += int64(float64(r.Limit) * settledFor.Seconds() / r.Per.Seconds() * settledBytes)
			}
		}
	}
	return (bytes + 1<<20 - 1) >> 20 << 20
}
