package recent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/telemetry"
	"sluice/telemetry/latency"
)

// What is a kind of duration.
type What string

// The kinds of durations. Service and FirstByte are measured only for requests that the service answered.
const (
	Service   What = "service"    // waiting for the service, until the last byte of its answer
	FirstByte What = "first_byte" // from arrival to the first byte of the answer, without the time in the queue
	Own       What = "sluice"     // Sluice's own part
	Queue     What = "queue"      // of a task, until it runs
	Run       What = "run"        // of a task, from then until it ends
)

// Whats are the kinds in order.
var Whats = []What{Service, FirstByte, Own, Queue, Run}

// LatencyStep is the resolution of histograms over time. A finer one would need more memory than an hour of a model may take.
const LatencyStep = 5 * time.Minute

const stepsAnHour = int(time.Hour / LatencyStep)

// By is a dimension of latencies.
type By string

// The dimensions.
const (
	ByModel    By = "model"
	ByEndpoint By = "endpoint"
)

// Latency is the histogram of one kind of duration in a step, of a model or an endpoint.
type Latency struct {
	Of    string // the model, from a closed set, or the endpoint
	What  What
	Start time.Time // the step's beginning, in UTC
	latency.Histogram
}

// series names a series of histograms, one for each step.
type series struct {
	by   By
	of   string
	what What
}

// field returns its field in Redis. A model's name may have any byte but NUL.
func (s series) field() string { return string(s.by) + "\x00" + string(s.what) + "\x00" + s.of }

func readSeries(field string) (s series, ok bool) {
	parts := strings.SplitN(field, "\x00", 3)
	if len(parts) != 3 {
		return s, false
	}
	return series{By(parts[0]), parts[2], What(parts[1])}, true
}

// measuredOf names what is measured together.
type measuredOf struct {
	model, endpoint string
	step            int64 // steps since 1970
}

// measured has a histogram for each of Whats; nil: empty.
type measured [5]*latency.Histogram

func (m *measured) note(what int, d time.Duration) {
	if m[what] == nil {
		m[what] = new(latency.Histogram)
	}
	m[what].Note(d)
}

// measure measures a request. Requests about tasks are not measured: most are answered from the cache.
func (s *shard) measure(r *telemetry.Record, ended time.Time) {
	if r.Endpoint == "" || r.Endpoint == "tasks" {
		return
	}
	m := s.measured(measuredOf{r.Label, r.Endpoint, stepOf(ended)})
	m.note(2, r.Overhead)
	if r.UpstreamStatus > 0 {
		m.note(0, r.Service)
		m.note(1, max(r.FirstByte-r.Queued, 0))
	}
}

func stepOf(at time.Time) int64 { return at.Unix() / int64(LatencyStep/time.Second) }

func (s *shard) measured(of measuredOf) *measured {
	m := s.latencies[of]
	if m == nil {
		m = new(measured)
		s.latencies[of] = m
	}
	return m
}

// NoteTask collects the durations of a task that has ended; label is its model, from a closed set. It does not retain the task, and never
// waits for the store.
func (c *Collector) NoteTask(label string, t *telemetry.Task) {
	if t.Started.IsZero() { // the service does not report how long it was queued
		return
	}
	s := c.shards.take()
	defer s.mu.Unlock()
	m := s.measured(measuredOf{label, "image", stepOf(t.Ended)})
	queue, run := t.Times()
	m.note(3, queue)
	m.note(4, run)
}

// LatencyPart are some unposted histograms of a process in an hour.
type LatencyPart struct {
	Begins  time.Time // the hour's beginning
	Number  int64     // ascending over the process's parts, from 1
	Entries []LatencyEntry
	Stored  bool // set by the store
}

// LatencyEntry is the histogram of a series in a step.
type LatencyEntry struct {
	series
	step int // of the hour, from 0
	*latency.Histogram
}

const (
	// inLatencyPart bounds the entries of a part: Redis serves other clients between two parts.
	inLatencyPart = 16
	// maxMeasured bounds the entries that wait while the store is unreachable.
	maxMeasured = 20_000
)

// measuring holds the unposted histograms. As with hours, what was sent stays unchanged until the store has it.
type measuring struct {
	sent []*LatencyPart
	next map[measuredAt]*latency.Histogram
}

type measuredAt struct {
	series
	step int64 // steps since 1970
}

// add adds what was measured together, once by model and once by endpoint. A model without a name is left out.
func (w *measuring) add(of measuredOf, m *measured) {
	for i, h := range m {
		if h == nil {
			continue
		}
		if of.model != "" {
			w.addTo(measuredAt{series{ByModel, of.model, Whats[i]}, of.step}, h)
		}
		w.addTo(measuredAt{series{ByEndpoint, of.endpoint, Whats[i]}, of.step}, h)
	}
}

func (w *measuring) addTo(at measuredAt, h *latency.Histogram) {
	if w.next == nil {
		w.next = map[measuredAt]*latency.Histogram{}
	}
	if w.next[at] == nil {
		if len(w.next) >= maxMeasured {
			return
		}
		w.next[at] = new(latency.Histogram)
	}
	w.next[at].Add(h)
}

// post returns the parts to send; number counts the parts.
func (w *measuring) post(number *int64) []*LatencyPart {
	if len(w.sent) > 0 {
		return w.sent
	}
	all := slices.SortedFunc(maps.Keys(w.next), func(a, b measuredAt) int {
		return cmp.Or(cmp.Compare(a.step, b.step), strings.Compare(a.field(), b.field()))
	})
	for _, at := range all {
		begins, last := time.Unix(at.step*int64(LatencyStep/time.Second), 0).UTC().Truncate(time.Hour), len(w.sent)-1
		if last < 0 || !w.sent[last].Begins.Equal(begins) || len(w.sent[last].Entries) == inLatencyPart {
			*number++
			w.sent, last = append(w.sent, &LatencyPart{Begins: begins, Number: *number}), last+1
		}
		w.sent[last].Entries = append(w.sent[last].Entries, LatencyEntry{at.series, int(at.step % int64(stepsAnHour)), w.next[at]})
	}
	w.next = nil
	return w.sent
}

func (w *measuring) left() bool { return len(w.sent)+len(w.next) > 0 }

// posted drops the parts that the store has.
func (w *measuring) posted() {
	w.sent = slices.DeleteFunc(w.sent, func(p *LatencyPart) bool { return p.Stored })
}

// sortLatencies sorts by name, then by kind, then by time.
func sortLatencies(list []Latency) {
	slices.SortFunc(list, func(a, b Latency) int {
		return cmp.Or(strings.Compare(a.Of, b.Of), cmp.Compare(slices.Index(Whats, a.What), slices.Index(Whats, b.What)),
			a.Start.Compare(b.Start))
	})
}

// hours returns the beginnings of the hours of a span.
func hours(from, to time.Time) (list []time.Time) {
	for at := from.UTC().Truncate(time.Hour); at.Before(to); at = at.Add(time.Hour) {
		list = append(list, at)
	}
	return list
}
