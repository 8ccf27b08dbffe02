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

// What is a duration that is measured.
type What string

// The durations. Those of requests are of requests that the service answered, but Sluice's own, which every request has.
const (
	Service   What = "service"    // waiting for the service, until the last byte of its answer
	FirstByte What = "first_byte" // from arrival to the first byte of the answer, without the time in the queue
	Own       What = "sluice"     // Sluice's own part
	Queue     What = "queue"      // a task's, until it runs
	Run       What = "run"        // a task's, until it ends
)

// Whats are the durations in their order.
var Whats = []What{Service, FirstByte, Own, Queue, Run}

// LatencyStep is the step of time of histograms. Finer ones would need more room than an hour of a model may take.
const LatencyStep = 5 * time.Minute

const stepsAnHour = int(time.Hour / LatencyStep)

// By is a dimension of latencies.
type By string

// The dimensions.
const (
	ByModel    By = "model"
	ByEndpoint By = "endpoint"
)

// Latency are the durations of one sort in a step, of a model or an endpoint.
type Latency struct {
	Of    string // the model, from a closed set, or the endpoint
	What  What
	Start time.Time // of the step, in UTC
	latency.Histogram
}

// series names the histograms of an hour of which one is in each step.
type series struct {
	by   By
	of   string
	what What
}

// field is its name in Redis. Names of models may have any byte but this one.
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
	step            int64 // since 1970
}

// measured has a histogram for each of Whats; nil: nothing was measured.
type measured [5]*latency.Histogram

func (m *measured) note(what int, d time.Duration) {
	if m[what] == nil {
		m[what] = new(latency.Histogram)
	}
	m[what].Note(d)
}

// request measures a request. Polls are none: they are answered from what is known.
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

// NoteTask takes a task that has ended; label is its model, from a closed set. It keeps nothing of it, and never waits for the store.
func (c *Collector) NoteTask(label string, t *telemetry.Task) {
	if t.Started.IsZero() { // the service does not say how long it waited
		return
	}
	s := c.shards.take()
	defer s.mu.Unlock()
	m := s.measured(measuredOf{label, "image", stepOf(t.Ended)})
	queue, run := t.Times()
	m.note(3, queue)
	m.note(4, run)
}

// LatencyPart is some of what a process measured in an hour and was not posted yet.
type LatencyPart struct {
	Begins  time.Time
	Number  int64 // of the process's posts, from 1; each has a greater one
	Entries []LatencyEntry
	Stored  bool // set by the store
}

// LatencyEntry are the durations of a series in a step of the hour, from 0.
type LatencyEntry struct {
	series
	step int
	*latency.Histogram
}

const (
	// inLatencyPart is how many entries a part has: Redis serves others between two parts.
	inLatencyPart = 16
	// mostMeasured is how many entries wait at most while the store is away.
	mostMeasured = 20_000
)

// measuring is what was measured and not posted yet. As with hours, what is under way stays unchanged until the store has it.
type measuring struct {
	sent []*LatencyPart
	next map[measuredAt]*latency.Histogram
}

type measuredAt struct {
	series
	step int64 // since 1970
}

// add takes what was measured together, once by model and once by endpoint. A model without a name is left out.
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
		if len(w.next) >= mostMeasured {
			return
		}
		w.next[at] = new(latency.Histogram)
	}
	w.next[at].Add(h)
}

// post lists what is to be sent; number counts the parts.
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

// posted forgets what the store has.
func (w *measuring) posted() {
	w.sent = slices.DeleteFunc(w.sent, func(p *LatencyPart) bool { return p.Stored })
}

// sortLatencies puts them in order: by name, then by what, then by time.
func sortLatencies(list []Latency) {
	slices.SortFunc(list, func(a, b Latency) int {
		return cmp.Or(strings.Compare(a.Of, b.Of), cmp.Compare(slices.Index(Whats, a.What), slices.Index(Whats, b.What)), a.Start.Compare(b.Start))
	})
}

// hours lists the hours of a span.
func hours(from, to time.Time) (list []time.Time) {
	for at := from.UTC().Truncate(time.Hour); at.Before(to); at = at.Add(time.Hour) {
		list = append(list, at)
	}
	return list
}
