package redisstore

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// When a replica counts as alive, and Redis as away.
const (
	AliveFor = 30 * time.Second // a replica counts as alive for this time after its last beat
	BeatGap  = 3 * time.Second  // a longer time without any beat may have been an outage
)

// Beat is Redis's answer to a beat: its memory, and the replicas.
type Beat struct {
	Memory string    // the name of Redis's memory; a new one if it has none
	Run    string    // the name of Redis's process: a new one may have read an older copy; empty: unknown
	At     time.Time // by Redis's clock
	Alive  int64     // replicas that are alive
	Gap    [2]int64  // the last outage for all replicas that one of them survived, from and to, in microseconds; zero: none
	Back   bool      // Redis has an older beat of this replica than it acknowledged
}

// Beat tells Redis that this process is alive. last is At of the beat before; zero: there was none.
func (r *Store) Beat(ctx context.Context, last time.Time) (b Beat, err error) {
	pipe := r.client.Pipeline()
	pipe.SetNX(ctx, epochKey, rand.Text(), 0)
	got := pipe.Get(ctx, epochKey)
	before := int64(0)
	if !last.IsZero() {
		before = last.UnixMicro()
	}
	c := r.begin(replicasScript, []any{replicasKey}, 5).add(r.Peer.ID, before, BeatGap.Microseconds(), AliveFor.Microseconds(), limit.LateTruth.Microseconds())
	c.reply = redis.NewIntSliceCmd(ctx, c.args...)
	_ = pipe.Process(ctx, c.reply) // it is only queued
	info := pipe.Info(ctx, "server")
	_, failed := pipe.Exec(ctx) // each command has its error; INFO may be forbidden
	r.finish(ctx, failed, c)
	if err := got.Err(); err != nil {
		return b, err
	}
	in, err := r.said(c, 5)
	if err != nil {
		return b, err
	}
	_, run, _ := strings.Cut(info.Val(), "run_id:")
	run, _, _ = strings.Cut(run, "\r")
	return Beat{Memory: got.Val(), Run: run, At: time.UnixMicro(in[0]).UTC(), Alive: in[1], Back: in[2] == 1, Gap: [2]int64(in[3:])}, nil
}

// List adds teams to the list of those that ever sent a request.
func (r *Store) List(ctx context.Context, teams ...string) error {
	return r.client.SAdd(ctx, namesKey, teams).Err()
}

// Teams returns that list.
func (r *Store) Teams(ctx context.Context) ([]string, error) {
	return r.client.SMembers(ctx, namesKey).Result()
}
