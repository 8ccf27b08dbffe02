package figures

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// The sums of a day are a hash in Redis, of [Sum]s by the way they are added up:
//
//	sl1:days:<yyyymmdd>   hash    401 days    team, model, endpoint, tag: a sum
//	sl1:days:lead         string  10 s        the process that makes sums
const (
	sumsPrefix = "sl1:days:"
	leadKey    = sumsPrefix + "lead"
	keptFor    = 401 * 24 * time.Hour
)

// inTrip is how many days one round trip reads: of a thousand teams, about a megabyte. Redis serves others between the commands that
// it reads at once.
const inTrip = 50

// DayBy names a sum: a day, yyyymmdd, and what it tells apart.
type DayBy struct {
	Day int
	By  string // of the [ways], without day
}

// summed are the ways to add up a day. Each has all that was used, except that use without a tag is in no row of tag.
var summed = []string{"team", "model", "endpoint", "tag"}

// RedisSums keeps sums in Redis, for all replicas. Create it with [NewRedisSums]. It is safe for concurrent use.
type RedisSums struct {
	client redis.UniversalClient
	name   string
}

// NewRedisSums returns the sums in the Redis of a client, which the caller closes.
func NewRedisSums(client redis.UniversalClient) *RedisSums { return &RedisSums{client, rand.Text()} }

func sumsKey(day int) string { return sumsPrefix + strconv.Itoa(day) }

// Load returns the sums of days that are kept, in round trips that are made at the same time.
func (r *RedisSums) Load(ctx context.Context, days []int, by []string) (map[DayBy]Sum, error) {
	parts := (len(days) + inTrip - 1) / inTrip
	found, errs := make([][]*redis.SliceCmd, parts), make([]error, parts)
	var reading sync.WaitGroup
	for i := range parts {
		reading.Go(func() {
			pipe := r.client.Pipeline()
			for _, day := range days[i*inTrip : min((i+1)*inTrip, len(days))] {
				found[i] = append(found[i], pipe.HMGet(ctx, sumsKey(day), by...))
			}
			_, errs[i] = pipe.Exec(ctx)
		})
	}
	reading.Wait()
	sums := make(map[DayBy]Sum, len(days)*len(by))
	for i := range parts {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for j, cmd := range found[i] {
			for k, value := range cmd.Val() {
				text, _ := value.(string)
				if sum, err := readSum(text); err == nil { // else it has to be made again
					sums[DayBy{days[i*inTrip+j], by[k]}] = sum
				}
			}
		}
	}
	return sums, nil
}

// Save keeps the sums of one day.
func (r *RedisSums) Save(ctx context.Context, day int, sums map[string]Sum) error {
	values := make([]any, 0, 2*len(sums))
	for by, sum := range sums {
		values = append(values, by, sum.text())
	}
	pipe := r.client.Pipeline()
	pipe.HSet(ctx, sumsKey(day), values...)
	pipe.Expire(ctx, sumsKey(day), keptFor)
	_, err := pipe.Exec(ctx)
	return err
}

// Lead reports whether this process is the one to make sums for so long.
func (r *RedisSums) Lead(ctx context.Context, lasts time.Duration) (bool, error) {
	return r.client.SetNX(ctx, leadKey, r.name, lasts).Result()
}

// Sum is what was used on one day.
type Sum struct {
	Version uint64    // of the day's ledger, of which the sum is
	Made    time.Time // to the second
	Whole   bool      // false: there were too many names for a sum
	rows    string    // a name, what was used of each unit, and the estimated part of each, again and again
}

// newSum returns a sum of rows; nil: there were too many.
func newSum(version uint64, made time.Time, rows []Row, whole bool) Sum {
	var b []byte
	for i := range rows {
		b = binary.AppendUvarint(b, uint64(len(rows[i].Name)))
		b = append(b, rows[i].Name...)
		for _, amounts := range [2]*limit.Amounts{&rows[i].Used, &rows[i].Estimated} {
			for _, n := range amounts {
				b = binary.AppendVarint(b, n)
			}
		}
	}
	return Sum{version, made.Truncate(time.Second), whole, string(b)}
}

// Rows goes through the rows.
func (s *Sum) Rows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		var row Row
		for rest := s.rows; rest != ""; {
			var length uint64
			length, rest = uvarint(rest)
			row.Name, rest = rest[:length], rest[length:]
			for i := range row.Used {
				row.Used[i], rest = varint(rest)
			}
			for i := range row.Estimated {
				row.Estimated[i], rest = varint(rest)
			}
			if !yield(&row) {
				return
			}
		}
	}
}

// uvarint reads a number of those that [binary.AppendUvarint] writes.
func uvarint(text string) (n uint64, rest string) {
	for i := range len(text) {
		if n |= uint64(text[i]&0x7f) << (7 * i); text[i] < 0x80 {
			return n, text[i+1:]
		}
	}
	return 0, ""
}

func varint(text string) (n int64, rest string) {
	u, rest := uvarint(text)
	return int64(u>>1) ^ -int64(u&1), rest
}

// form is the first byte of a sum's text.
const form = 1

var errForm = errors.New("not a sum of a day, or one of another version of Sluice")

// text is the sum as Redis keeps it.
func (s *Sum) text() string {
	b := []byte{form, 0}
	if s.Whole {
		b[1] = 1
	}
	b = binary.BigEndian.AppendUint64(b, s.Version)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Made.Unix()))
	return string(b) + s.rows
}

// readSum reads a sum's text. It looks at all rows, so that [Sum.Rows] need not.
func readSum(text string) (s Sum, err error) {
	const head = 18
	if len(text) < head || text[0] != form {
		return s, errForm
	}
	s = Sum{
		Version: binary.BigEndian.Uint64([]byte(text[2:10])), Made: time.Unix(int64(binary.BigEndian.Uint64([]byte(text[10:head]))), 0).UTC(),
		Whole: text[1] == 1, rows: text[head:],
	}
	if !sound(s.rows) {
		return Sum{}, errForm
	}
	return s, nil
}

// sound reports whether a text consists of rows.
func sound(text string) bool {
	for text != "" {
		length, rest := uvarint(text)
		if rest == "" || length > uint64(len(rest)) {
			return false
		}
		text = rest[length:]
		for range 2 * len(limit.Amounts{}) {
			at := 0
			for at < len(text) && at < binary.MaxVarintLen64 && text[at] >= 0x80 {
				at++
			}
			if at == len(text) || text[at] >= 0x80 {
				return false
			}
			text = text[at+1:]
		}
	}
	return true
}
