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
	Part   int64     // this replica's part of what all may have in flight, of [limit.Whole]
	Others limit.Beyond
}

// Beat reports to Redis that this process is alive, and what it has in flight. last is At of the previous beat; zero: none.
func (r *Store) Beat(ctx context.Context, last time.Time, has limit.Flight) (b Beat, err error) {
	pipe := r.client.Pipeline()
	pipe.SetNX(ctx, epochKey, rand.Text(), 0)
	got := pipe.Get(ctx, epochKey)
	c := r.begin(replicasScript, beatArgsOf(&r.Peer, last, has), replicasKey, partsKey)
	c.reply = redis.NewIntSliceCmd(ctx, c.args...)
	_ = pipe.Process(ctx, c.reply) // it is only queued
	parts := pipe.HGetAll(ctx, partsKey)
	info := pipe.Info(ctx, "server")
	if r.agreed.Load() { // Redis may have lost it
		pipe.SetNX(ctx, moneyKey, r.Money.Digits(), 0)
	}
	asked := askMoney(ctx, pipe)
	_, failed := pipe.Exec(ctx) // each command has its error; INFO may be forbidden
	r.finish(ctx, failed, c)
	if err := got.Err(); err != nil {
		return b, err
	}
	in, err := r.replyTo(c)
	if err != nil {
		return b, err
	}
	r.agreement.observe(asked.answer())
	_, run, _ := strings.Cut(info.Val(), "run_id:")
	run, _, _ = strings.Cut(run, "\r")
	b = Beat{
		Memory: got.Val(), Run: run, At: time.UnixMicro(in.next()).UTC(), Alive: in.next(), Back: in.next() == 1,
		Gap: [2]int64{in.next(), in.next()}, Part: in.next(),
	}
	for id, text := range parts.Val() {
		if _, beyond, ok := strings.Cut(text, "{"); ok && id != r.Peer.ID {
			b.Others.Add("{" + beyond)
		}
	}
	return b, in.end()
}

// Leave reports that this process ends, so that its part is free immediately.
func Leave(ctx context.Context, r *Store) error {
	return r.client.HSet(ctx, partsKey, r.Peer.ID, "left").Err()
}

// beatArgs are the arguments of replicas.lua, in microseconds.
type beatArgs struct {
	Replica string `json:"replica"`
	Before  int64  `json:"before"`
	Gap     int64  `json:"gap"`
	Alive   int64  `json:"alive"`
	Forget  int64  `json:"forget"`
	Bridge  int64  `json:"bridge"`
	limit.Flight
}

func beatArgsOf(peer *Peer, last time.Time, has limit.Flight) beatArgs {
	args := beatArgs{
		peer.ID, 0, BeatGap.Microseconds(), AliveFor.Microseconds(), limit.LateTruth.Microseconds(), max(peer.Lease, AliveFor).Microseconds(),
		has,
	}
	if !last.IsZero() {
		args.Before = last.UnixMicro()
	}
	return args
}
