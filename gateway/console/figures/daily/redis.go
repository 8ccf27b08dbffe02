package daily

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	keyPrefix = "sl1:days:"
	leadKey   = keyPrefix + "lead"
	keptFor   = 401 * 24 * time.Hour
)

// inTrip is how many days one round trip reads: of a thousand teams, about a megabyte. Redis serves others between the commands that
// it reads at once.
const inTrip = 50

// Redis keeps the sums in Redis, for all replicas. Create it with [NewRedis]. It is safe for concurrent use.
type Redis struct {
	client redis.UniversalClient
	name   string
}

// NewRedis returns the sums in the Redis of a client, which the caller closes.
func NewRedis(client redis.UniversalClient) *Redis { return &Redis{client, rand.Text()} }

func key(day int) string { return keyPrefix + strconv.Itoa(day) }

// Of names a sum.
type Of struct {
	Day int // yyyymmdd
	By  By
}

// Load returns the sums of days that are kept, in round trips that are made at the same time.
func (r *Redis) Load(ctx context.Context, days []int, by []By) (map[Of]Sum, error) {
	fields := make([]string, len(by))
	for i := range by {
		fields[i] = string(by[i])
	}
	parts := (len(days) + inTrip - 1) / inTrip
	found, errs := make([][]*redis.SliceCmd, parts), make([]error, parts)
	var reading sync.WaitGroup
	for i := range parts {
		reading.Go(func() {
			pipe := r.client.Pipeline()
			for _, day := range days[i*inTrip : min((i+1)*inTrip, len(days))] {
				found[i] = append(found[i], pipe.HMGet(ctx, key(day), fields...))
			}
			_, errs[i] = pipe.Exec(ctx)
		})
	}
	reading.Wait()
	sums := make(map[Of]Sum, len(days)*len(by))
	for i := range parts {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for j, cmd := range found[i] {
			for k, value := range cmd.Val() {
				text, _ := value.(string)
				if sum, err := readSum(text); err == nil { // else it has to be made again
					sums[Of{days[i*inTrip+j], by[k]}] = sum
				}
			}
		}
	}
	return sums, nil
}

// Save keeps the sums of one day.
func (r *Redis) Save(ctx context.Context, day int, sums map[By]Sum) error {
	values := make([]any, 0, 2*len(sums))
	for by, sum := range sums {
		values = append(values, string(by), sum.text())
	}
	pipe := r.client.Pipeline()
	pipe.HSet(ctx, key(day), values...)
	pipe.Expire(ctx, key(day), keptFor)
	_, err := pipe.Exec(ctx)
	return err
}

// Lead reports whether this process is the one to make sums for so long.
func (r *Redis) Lead(ctx context.Context, lasts time.Duration) (bool, error) {
	return r.client.SetNX(ctx, leadKey, r.name, lasts).Result()
}
