package recent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit/limittest"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

func latencies(t *testing.T, s store, by recent.By, from, to time.Time) []recent.Latency {
	t.Helper()
	list, err := s.Latencies(t.Context(), by, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// timed is a request of a model.
func timed(clock *limittest.Clock, label string, service time.Duration) telemetry.Record {
	return telemetry.Record{
		Time: clock.Now(), Team: "search", Label: label, Endpoint: "text", Status: 200, UpstreamStatus: 200, Service: service,
		FirstByte: service/2 + time.Second, Queued: time.Second, Duration: service, Overhead: time.Millisecond,
	}
}

// TestLatenciesOfAllReplicas: percentiles over what all replicas posted are within 5 % of the exact ones.
func TestLatenciesOfAllReplicas(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		replicas, random := []*recent.Collector{collector(s, clock), collector(s, clock), collector(s, clock)}, rand.New(rand.NewPCG(1, 2))
		begun := clock.Now().Truncate(recent.LatencyStep)
		var exact []time.Duration
		for i := range 600 {
			d := time.Duration(math.Exp(random.NormFloat64()) * float64(800*time.Millisecond))
			exact = append(exact, d)
			r := timed(clock, "llm-max", d)
			replicas[i%3].Note(&r, r.AppendLine(nil))
			if i%100 == 99 {
				for _, c := range replicas {
					post(t, c)
				}
			}
		}
		slices.Sort(exact)
		list := latencies(t, s, recent.ByModel, begun, clock.Now().Add(time.Hour))
		if len(list) == 0 || list[0].Of != "llm-max" || list[0].What != recent.Service {
			t.Fatalf("%d: %+v", len(list), list)
		}
		merged := list[0]
		for i := 1; i < len(list) && list[i].What == recent.Service; i++ { // its requests end in several steps
			merged.Add(&list[i].Histogram)
		}
		for _, p := range []float64{50, 95, 99} {
			want := exact[int(math.Ceil(p/100*600))-1]
			if got := merged.Percentile(p); math.Abs(float64(got-want)) > 0.05*float64(want) {
				t.Errorf("p%v is %v, and exactly %v", p, got, want)
			}
		}
		if merged.Count() != 600 {
			t.Errorf("%d of 600", merged.Count())
		}
		if own := latencies(t, s, recent.ByEndpoint, begun, clock.Now().Add(time.Hour)); len(own) != len(list) || own[0].Of != "text" {
			t.Errorf("by endpoint: %d, not %d", len(own), len(list))
		}
	})
}

// TestWhatIsMeasured: polls and requests that the service did not answer have no time of it; tasks have their own.
func TestWhatIsMeasured(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		c := collector(s, clock)
		refused, poll, unnamed := timed(clock, "llm-max", 0), timed(clock, "llm-max", time.Second), timed(clock, "", time.Second)
		refused.UpstreamStatus, poll.Endpoint = 0, "tasks"
		for _, r := range []telemetry.Record{timed(clock, "llm-max", 2*time.Second), refused, poll, unnamed} {
			c.Note(&r, r.AppendLine(nil))
		}
		task := telemetry.Task{Submitted: clock.Now(), Started: clock.Now().Add(4 * time.Second), Ended: clock.Now().Add(10 * time.Second)}
		c.NoteTask("gen", &task)
		task.Started = time.Time{}
		c.NoteTask("gen", &task)
		post(t, c)
		got := ""
		for _, l := range latencies(t, s, recent.ByModel, clock.Now().Add(-time.Hour), clock.Now().Add(time.Hour)) {
			got += fmt.Sprintf("%s %s %d %.1f; ", l.Of, l.What, l.Count(), l.Percentile(99).Seconds())
		}
		if got != "gen queue 1 4.1; gen run 1 5.9; llm-max service 1 2.1; llm-max first_byte 1 1.0; llm-max sluice 2 0.0; " {
			t.Error(got)
		}
	})
}

// mute is a store whose replies are lost.
type mute struct {
	store
	lost bool
}

func (l *mute) Post(ctx context.Context, p *recent.Post) error {
	err := l.store.Post(ctx, p)
	if l.lost {
		for _, part := range p.Latencies {
			part.Stored = false
		}
		return errors.New("no reply")
	}
	return err
}

// TestAMeasureCountsOnce although its reply was lost and it is posted again, and what was measured meanwhile follows.
func TestAMeasureCountsOnce(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		l := &mute{s, true}
		c := collector(l, clock)
		for range 3 {
			for i := range 40 { // several parts
				r := timed(clock, fmt.Sprint("model-", i), time.Second)
				c.Note(&r, r.AppendLine(nil))
			}
			_ = c.Post(t.Context())
		}
		l.lost = false
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, counted := latencies(t, s, recent.ByModel, clock.Now().Add(-time.Hour), clock.Now().Add(time.Hour)), int64(0)
		for i := range all {
			if all[i].What == recent.Service {
				counted += all[i].Count()
			}
		}
		if counted != 120 {
			t.Errorf("%d of 120 are counted", counted)
		}
	})
}

// TestAnHourOfAModelIsSmall: with ten requests a second, whose times differ by a factor of a hundred, it takes at most 4 KB of Redis, and
// is gone after two days.
func TestAnHourOfAModelIsSmall(t *testing.T) {
	clock, client := limittest.NewClock(), limittest.RealRedis(t)
	s, random := recent.NewRedis(client, clock.Now), rand.New(rand.NewPCG(3, 4))
	c := collector(s, clock)
	clock.Move(time.Hour - time.Duration(clock.Now().UnixNano())%time.Hour)
	begun := clock.Now()
	size := func() int64 {
		n, err := client.MemoryUsage(t.Context(), "sl1:{sl1:latency}:"+begun.UTC().Format("2006010215"), 0).Result()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	hour := func(of func(i int) telemetry.Record) {
		for i := range 36_000 {
			r := of(i)
			r.Time, r.Duration = begun.Add(time.Duration(i)*100*time.Millisecond), 0
			c.Note(&r, r.AppendLine(nil))
		}
		post(t, c)
	}
	spread := func() time.Duration { return time.Duration(math.Exp(random.NormFloat64()*0.8) * float64(time.Second)) }
	hour(func(int) telemetry.Record {
		r := timed(clock, "llm-max", spread())
		r.FirstByte, r.Overhead = time.Second+spread()/4, time.Duration(math.Exp(random.NormFloat64()*0.5)*float64(300*time.Microsecond))
		return r
	})
	key, all := "sl1:{sl1:latency}:"+begun.UTC().Format("2006010215"), size()
	if ttl := client.TTL(t.Context(), key).Val(); ttl > recent.Kept || ttl < recent.Kept-time.Minute {
		t.Errorf("it is kept for %v", ttl)
	}
	for field := range client.HGetAll(t.Context(), key).Val() {
		if strings.HasPrefix(field, "model") {
			client.HDel(t.Context(), key, field)
		}
	}
	named := all - size()
	t.Logf("%d bytes of Redis", named)
	if named > 4096 {
		t.Errorf("an hour of a model takes %d bytes, 4096 may be", named)
	}
}

// TestMeasuresInMemoryAreBounded: of very many models the oldest hours go first.
func TestMeasuresInMemoryAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("many requests, one after the other")
	}
	clock := limittest.NewClock()
	s, begun := recent.NewMemory(clock.Now), clock.Now()
	c := collector(s, clock)
	for range 8 {
		for i := range 6000 {
			r := timed(clock, fmt.Sprint("model-", i), time.Second)
			r.Duration = 0
			c.Note(&r, r.AppendLine(nil))
		}
		post(t, c)
		clock.Move(time.Hour)
	}
	if n := len(latencies(t, s, recent.ByModel, begun.Add(-time.Hour), begun.Add(30*time.Minute))); n != 0 {
		t.Errorf("the first hour still has %d", n)
	}
	if n := len(latencies(t, s, recent.ByModel, clock.Now().Add(-90*time.Minute), clock.Now())); n != 18_000 {
		t.Errorf("the last hour has %d", n)
	}
}
