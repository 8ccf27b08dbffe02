package access

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// keyPrefix begins every key. Its hash tag puts all of them into one slot.
const keyPrefix = "sl1:{sl1:console}:"

var (
	//go:embed scripts/put.lua
	putLua    string
	putScript = redis.NewScript(putLua)
	//go:embed scripts/list.lua
	listLua    string
	listScript = redis.NewScript(listLua)
	//go:embed scripts/count.lua
	countLua    string
	countScript = redis.NewScript(countLua)
)

// Redis is a [Store] in Redis, for all replicas. It is safe for concurrent use.
type Redis struct {
	client  redis.UniversalClient
	timeout time.Duration
}

// NewRedis returns a store in the client's Redis. The caller closes the client. timeout bounds each call.
func NewRedis(client redis.UniversalClient, timeout time.Duration) *Redis {
	return &Redis{client, timeout}
}

func entryKey(kind, name string) string { return keyPrefix + kind + ":" + name }
func indexKey(kind string) string       { return keyPrefix + kind + "s" }

// Put implements [Store].
func (r *Redis) Put(ctx context.Context, kind, name string, value []byte, life time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return putScript.Run(ctx, r.client, []string{indexKey(kind), entryKey(kind, name)}, value, life.Milliseconds(), most).Err()
}

// Get implements [Store].
func (r *Redis) Get(ctx context.Context, kind, name string, renew time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if renew > 0 {
		return found(r.client.GetEx(ctx, entryKey(kind, name), renew).Bytes())
	}
	return found(r.client.Get(ctx, entryKey(kind, name)).Bytes())
}

// Swap implements [Store].
func (r *Redis) Swap(ctx context.Context, kind, name string, value []byte) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	_, err := r.client.SetArgs(ctx, entryKey(kind, name), value, redis.SetArgs{Mode: "XX", KeepTTL: true}).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// Take implements [Store]. The index drops the name when it is next read or written.
func (r *Redis) Take(ctx context.Context, kind, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return found(r.client.GetDel(ctx, entryKey(kind, name)).Bytes())
}

// List implements [Store].
func (r *Redis) List(ctx context.Context, kind string) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	texts, err := listScript.Run(ctx, r.client, []string{indexKey(kind)}).StringSlice()
	values := make([][]byte, len(texts))
	for i, text := range texts {
		values[i] = []byte(text)
	}
	return values, err
}

// Count implements [Store].
func (r *Redis) Count(ctx context.Context, name string, window time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return countScript.Run(ctx, r.client, []string{entryKey(kindCount, name)}, window.Milliseconds()).Int()
}

func found(value []byte, err error) ([]byte, error) {
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return value, err
}
