package figures

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// The sums of a day or a month are a hash in Redis, with a [Sum] for each dimension:
//
//	sl1:days:<yyyymmdd>   hash    401 days    team, model, endpoint, account, tag, key, kind: a sum; stamp: a new text after each change
//	sl1:days:<yyyymm>     hash    401 days    the same for a whole month, and day: the total of each day
//	sl1:days:lead         string  10 s        the process that makes sums
const (
	sumsPrefix = "sl1:days:"
	leadKey    = sumsPrefix + "lead"
	stampField = "stamp"
	keptFor    = 401 * 24 * time.Hour
)

// inTrip is how many days one round trip reads: of a thousand teams, about a megabyte. Redis serves other clients between the
// commands of a pipeline.
const inTrip = 50

// DayBy names a sum: a day, yyyymmdd, or a month, yyyymm, and its dimension.
type DayBy struct {
	Day int
	By  string // of the [dimensions]; only months have the dimension day
}

// summed are the dimensions of a day's sums. Each has all use, except that tag and key lack use without one, and kind lacks requests.
var summed = []string{"team", "model", "endpoint", "account", "tag", "key", "kind"}

// RedisSums keeps sums in Redis, for all replicas. Create it with [NewRedisSums]. It is safe for concurrent use.
type RedisSums struct {
	client redis.UniversalClient
	name   string

	mu   sync.Mutex
	read map[DayBy]stamped // caches the last read sums
	size int               // bytes of their texts
}

// stamped is a sum and the stamp of its hash at that time. A missing sum has a stamp, too.
type stamped struct {
	Sum
	stamp string
	found bool
}

// mostRead bounds the cached sums in bytes: a year of a house with a thousand tags takes 3 MB.
const mostRead = 16 << 20

// NewRedisSums returns the sums in the client's Redis. The caller closes the client.
func NewRedisSums(client redis.UniversalClient) *RedisSums {
	return &RedisSums{client: client, name: rand.Text()}
}

func sumsKey(of int) string { return sumsPrefix + strconv.Itoa(of) }

// Load returns the stored sums of days and months, in concurrent round trips. It reads only the stamp of hashes that have not changed
// since the last read.
func (r *RedisSums) Load(ctx context.Context, days []int, by []string) (map[DayBy]Sum, error) {
	stamps, err := r.fields(ctx, days, []string{stampField})
	if err != nil {
		return nil, err
	}
	sums := make(map[DayBy]Sum, len(days)*len(by))
	known := func(day int) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, way := range by {
			if was, read := r.read[DayBy{day, way}]; !read || was.stamp != stamps[day][0] || was.stamp == "" {
				return false
			}
		}
		for _, way := range by {
			if was := r.read[DayBy{day, way}]; was.found {
				sums[DayBy{day, way}] = was.Sum
			}
		}
		return true
	}
	others := slices.DeleteFunc(slices.Clone(days), known)
	if len(others) == 0 {
		return sums, nil
	}
	read, err := r.fields(ctx, others, append(slices.Clone(by), stampField))
	r.mu.Lock()
	defer r.mu.Unlock()
	for day, texts := range read {
		for k, way := range by {
			is := stamped{stamp: texts[len(by)]}
			if sum, err := readSum(texts[k]); err == nil { // an unreadable sum is made again
				sums[DayBy{day, way}], is.Sum, is.found = sum, sum, true
			}
			r.keep(DayBy{day, way}, is)
		}
	}
	return sums, err
}

// keep caches a sum. If the cache is full, it is emptied first.
func (r *RedisSums) keep(of DayBy, is stamped) {
	if r.size += len(is.rows) - len(r.read[of].rows); r.read == nil || r.size > mostRead {
		r.read, r.size = map[DayBy]stamped{}, len(is.rows)
	}
	r.read[of] = is
}

// fields reads fields of days and months, in concurrent round trips; absent ones are empty.
func (r *RedisSums) fields(ctx context.Context, days []int, fields []string) (map[int][]string, error) {
	var mu sync.Mutex
	var reading Group
	all := make(map[int][]string, len(days))
	for part := range slices.Chunk(days, inTrip) {
		reading.Go(func() error {
			found, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for _, day := range part {
					pipe.HMGet(ctx, sumsKey(day), fields...)
				}
				return nil
			})
			mu.Lock()
			defer mu.Unlock()
			for i, cmd := range found {
				texts := make([]string, len(fields))
				for k, value := range cmd.(*redis.SliceCmd).Val() {
					texts[k], _ = value.(string)
				}
				all[part[i]] = texts
			}
			return err
		})
	}
	return all, reading.Wait()
}

// Save keeps sums.
func (r *RedisSums) Save(ctx context.Context, sums map[DayBy]Sum) error {
	_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for of, sum := range sums {
			pipe.HSet(ctx, sumsKey(of.Day), of.By, sum.text(), stampField, rand.Text())
			pipe.Expire(ctx, sumsKey(of.Day), keptFor)
		}
		return nil
	})
	return err
}

// Lead tries to take the leader lease for making sums, and reports whether this process holds it.
func (r *RedisSums) Lead(ctx context.Context, lasts time.Duration) (bool, error) {
	return r.client.SetNX(ctx, leadKey, r.name, lasts).Result()
}

// MemorySums keeps sums in this process's memory, like its accounts. The zero value is empty. It is safe for concurrent use.
type MemorySums struct {
	mu   sync.Mutex
	sums map[DayBy]Sum
}

// Load returns the stored sums of days and months.
func (m *MemorySums) Load(_ context.Context, days []int, by []string) (map[DayBy]Sum, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make(map[DayBy]Sum, len(days)*len(by))
	for _, day := range days {
		for _, way := range by {
			if sum, kept := m.sums[DayBy{day, way}]; kept {
				found[DayBy{day, way}] = sum
			}
		}
	}
	return found, nil
}

// Save keeps sums, and drops those whose days are no longer in the ledger.
func (m *MemorySums) Save(_ context.Context, sums map[DayBy]Sum) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sums == nil {
		m.sums = map[DayBy]Sum{}
	}
	var now time.Time
	for of, sum := range sums {
		m.sums[of], now = sum, sum.Made
	}
	maps.DeleteFunc(m.sums, func(_ DayBy, old Sum) bool { return now.Sub(old.Made) > keptFor })
	return nil
}

// Lead holds the lease: no other process has the accounts.
func (m *MemorySums) Lead(context.Context, time.Duration) (bool, error) { return true, nil }

// Sum is the use of one day or month.
type Sum struct {
	Version uint64    // of the ledger that was summed
	Made    time.Time // to the second
	Whole   bool      // false: too many names, and no rows
	rows    string    // repeated: a name, the use of each unit, and its estimated part
}

// newSum encodes rows as a sum.
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

// Rows iterates over the rows.
func (s *Sum) Rows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		var row Row
		for rest := s.rows; rest != ""; {
			next, ok := readRow(rest, &row)
			if !ok || !yield(&row) {
				return
			}
			rest = next
		}
	}
}

// readRow decodes the first row of a text. The name is a slice of the text, to save memory.
func readRow(text string, row *Row) (rest string, ok bool) {
	n, rest, ok := uvarint(text)
	if !ok || n > uint64(len(rest)) {
		return "", false
	}
	row.Name, rest = rest[:n], rest[n:]
	for _, amounts := range [2]*limit.Amounts{&row.Used, &row.Estimated} {
		for i := range amounts {
			if n, rest, ok = uvarint(rest); !ok {
				return "", false
			}
			amounts[i] = int64(n>>1) ^ -int64(n&1)
		}
	}
	return rest, true
}

// uvarint decodes a number of [binary.AppendUvarint]. The standard library decodes only bytes.
func uvarint(text string) (n uint64, rest string, ok bool) {
	for i := range min(len(text), binary.MaxVarintLen64) {
		if n |= uint64(text[i]&0x7f) << (7 * i); text[i] < 0x80 {
			return n, text[i+1:], true
		}
	}
	return 0, "", false
}

// form is the first byte of a sum's text: it changes with the number of units.
const form = byte(unit.Count - 3)

var errForm = errors.New("not a sum of a day, or one of another version of Sluice")

// text encodes the sum for Redis.
func (s *Sum) text() string {
	b := []byte{form, 0}
	if s.Whole {
		b[1] = 1
	}
	b = binary.BigEndian.AppendUint64(b, s.Version)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Made.Unix()))
	return string(b) + s.rows
}

// readSum decodes a sum's text, and checks all rows.
func readSum(text string) (s Sum, err error) {
	const head = 18
	if len(text) < head || text[0] != form {
		return s, errForm
	}
	var row Row
	for rest := text[head:]; rest != ""; {
		next, ok := readRow(rest, &row)
		if !ok {
			return s, errForm
		}
		rest = next
	}
	return Sum{
		Version: binary.BigEndian.Uint64([]byte(text[2:10])), Made: time.Unix(int64(binary.BigEndian.Uint64([]byte(text[10:head]))), 0).UTC(),
		Whole: text[1] == 1, rows: text[head:],
	}, nil
}
