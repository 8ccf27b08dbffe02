// Package recent keeps recent traffic: counts by team and minute of the last two days, and the last requests of all replicas, each as
// its log line.
//
// It serves the console's charts and lists. Billing uses the ledger of package limit instead. A [Collector] collects in the process and
// posts every few seconds to a store that all replicas share. The store has two forms: [Memory] and [Redis].
//
// It promises that a request waits neither for a store nor for the requests of other cores, that each count arrives once even if
// a reply is lost, that memory is bounded while the store is unreachable, and that it holds no prompt, body or key.
package recent

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/telemetry"
)

// Counts are counts of finished requests. Their usage is in the ledger.
type Counts struct {
	Requests int64
	Failed   int64                // requests that failed at the service; see [Failed]
	Polls    int64                // polls of tasks that neither failed nor were refused
	Overhead time.Duration        // the sum of Sluice's own part of their time, in whole microseconds
	Refusals map[string]int64     // by stage/reason; nil: none
	Rules    map[string]RuleCount // the broken rules, by id; nil: none
}

// Refused returns how many requests Sluice refused; see [Refused].
func (c *Counts) Refused() (n int64) {
	for name, m := range c.Refusals {
		if Refused(name) {
			n += m
		}
	}
	return n
}

// Add adds other counts.
func (c *Counts) Add(o *Counts) {
	c.Requests += o.Requests
	c.Failed += o.Failed
	c.Polls += o.Polls
	c.Overhead += o.Overhead
	for reason, n := range o.Refusals {
		c.refuse(reason, n)
	}
	for id, n := range o.Rules {
		c.breakRule(id, n)
	}
}

func (c *Counts) refuse(reason string, n int64) {
	if c.Refusals == nil {
		c.Refusals = map[string]int64{}
	}
	c.Refusals[reason] += n
}

// request counts a finished request.
func (c *Counts) request(r *telemetry.Record) {
	c.Requests++
	if Failed(r.Refusal, r.Status, r.UpstreamError) {
		c.Failed++
	} else if r.Refusal == "" && isPoll(r.Endpoint, r.Method) {
		c.Polls++
	}
	if r.Refusal != "" {
		c.refuse(r.Refusal, 1)
	}
	for _, rule := range r.Broken {
		c.breakRule(rule.ID, ruleCount(rule.Refused))
	}
	c.Overhead += r.Overhead.Truncate(time.Microsecond)
}

// The names of the counts in a text. A refusal's name is stage/reason, a rule's is its id and a mark.
const (
	nameRequests = "n"
	nameFailed   = "e"
	namePolls    = "p"
	nameOverhead = "o"
	markWarned   = ":w"
	markRefused  = ":r"
)

// text encodes the counts that are not 0, such as "n=12 o=5300 throttle/rate=3".
func (c *Counts) text() string {
	var b []byte
	write := func(name string, n int64) {
		if n == 0 {
			return
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(append(append(b, name...), '='), n, 10)
	}
	write(nameRequests, c.Requests)
	write(nameFailed, c.Failed)
	write(namePolls, c.Polls)
	write(nameOverhead, c.Overhead.Microseconds())
	for _, reason := range slices.Sorted(maps.Keys(c.Refusals)) {
		write(reason, c.Refusals[reason])
	}
	for _, id := range slices.Sorted(maps.Keys(c.Rules)) {
		write(id+markWarned, c.Rules[id].Warned)
		write(id+markRefused, c.Rules[id].Refused)
	}
	return string(b)
}

// read adds the counts of a text. It ignores unknown names, which a later version may have written.
func (c *Counts) read(text string) {
	for part := range strings.SplitSeq(text, " ") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		id, warned := strings.CutSuffix(name, markWarned)
		id, refused := strings.CutSuffix(id, markRefused)
		switch {
		case name == nameRequests:
			c.Requests += n
		case name == nameFailed:
			c.Failed += n
		case name == namePolls:
			c.Polls += n
		case name == nameOverhead:
			c.Overhead += time.Duration(n) * time.Microsecond
		case strings.Contains(name, "/"):
			c.refuse(name, n)
		case warned:
			c.breakRule(id, RuleCount{Warned: n})
		case refused:
			c.breakRule(id, RuleCount{Refused: n})
		}
	}
}

// Minute are the counts of a team in one minute.
type Minute struct {
	Team string    // empty: all requests, also those without a valid key
	At   time.Time // the minute's beginning, in UTC
	Counts
}

// sortMinutes sorts by team, then by time.
func sortMinutes(list []Minute) {
	slices.SortFunc(list, func(a, b Minute) int { return cmp.Or(strings.Compare(a.Team, b.Team), a.At.Compare(b.At)) })
}

// Kept is how long minutes are kept.
const Kept = 48 * time.Hour

// RuleCount counts the requests that broke a rule.
type RuleCount struct {
	Warned  int64 // requests whose client was warned
	Refused int64 // requests that the rule refused
}

// Plus returns the sum.
func (n RuleCount) Plus(m RuleCount) RuleCount {
	return RuleCount{n.Warned + m.Warned, n.Refused + m.Refused}
}

// ruleCount returns the count of one request.
func ruleCount(refused bool) RuleCount {
	if refused {
		return RuleCount{Refused: 1}
	}
	return RuleCount{Warned: 1}
}

func (c *Counts) breakRule(id string, n RuleCount) {
	if c.Rules == nil {
		c.Rules = map[string]RuleCount{}
	}
	c.Rules[id] = c.Rules[id].Plus(n)
}
