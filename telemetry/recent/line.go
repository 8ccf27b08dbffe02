package recent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sluice/policy/unit"
	"sluice/telemetry"
)

// The bounds of the kept requests, of all replicas together. Requests without a team have a list of their own, and a team has only a
// share of the teams' list, so that no client displaces the requests of others.
const (
	MostLines   = 10_000
	MostOfTeam  = MostLines / 4 // while other teams have some
	MostUnknown = 500           // requests without a team, in addition
)

// Bound states the bounds of the kept lines.
const Bound = "kept requests: 500 without a team, 2500 of one team while others have some, 10000 of all teams"

// Line is a finished request.
type Line struct {
	At   time.Time // when it ended, to the microsecond, in UTC; lines are sorted by it
	Text string    // its log line, in JSON, without a line end

	read  *fields // of Text; nil: not read yet
	owner string  // caches team; empty: not looked up
}

func (l Line) compare(other Line) int {
	return cmp.Or(l.At.Compare(other.At), strings.Compare(l.Text, other.Text))
}

func (l Line) equal(other Line) bool { return l.compare(other) == 0 }

// team returns the team in the text; empty: no team.
func (l Line) team() string {
	if l.read != nil {
		return l.read.team
	}
	if l.owner != "" {
		return l.owner
	}
	team, _ := l.member(`,"team":"`)
	return team
}

// newest sorts lines, oldest first, removes duplicates, and returns the lines that are kept. A line is posted twice if the reply to the
// first post was lost.
func newest(lines []Line) []Line {
	slices.SortFunc(lines, Line.compare)
	lines = slices.CompactFunc(lines, Line.equal)
	return last(lines, 1)
}

// last returns the last lines within the bounds, which are multiplied by times, in order.
func last(lines []Line, times int) []Line {
	_, share := shares(lines)
	left, unknown, teams := times*MostLines, times*MostUnknown, map[string]int{}
	to := len(lines)
	for i, line := range slices.Backward(lines) {
		room := &unknown
		if team := line.team(); team != "" {
			if teams[team] == times*share {
				continue
			}
			teams[team]++
			room = &left
		}
		if *room == 0 {
			continue
		}
		*room--
		to--
		lines[to] = lines[i]
	}
	return slices.Delete(lines, 0, to)
}

// shares returns the most lines of a team, and how many a team may have.
func shares(lines []Line) (most, share int) {
	teams := map[string]int{}
	for i := range lines {
		if team := lines[i].team(); team != "" {
			teams[team]++
			most = max(most, teams[team])
		}
	}
	if len(teams) > 1 {
		return most, MostOfTeam
	}
	return most, MostLines
}

// fields are the members of a line that filters use. They are read once for all readers of the line.
type fields struct {
	id, upstreamID, traceID, team, key, endpoint, model, task, refusal, tag string

	rules  []string
	poll   bool
	status int
	inner  int // of the error inside its answer

	whole atomic.Pointer[Request] // nil: not read yet
}

// read sets the fields of lines, in place.
func read(lines []Line) []Line {
	for i := range lines {
		lines[i].read = lines[i].fields()
	}
	return lines
}

// fields finds the members by searching for their names, which takes a twentieth of the time of decoding the whole line.
func (l Line) fields() *fields {
	f, plain, method := new(fields), true, ""
	for _, m := range [...]struct {
		name string
		to   *string
	}{
		{`,"id":"`, &f.id},
		{`,"upstream_id":"`, &f.upstreamID},
		{`,"trace_id":"`, &f.traceID},
		{`,"team":"`, &f.team},
		{`,"key":"`, &f.key},
		{`,"method":"`, &method},
		{`,"endpoint":"`, &f.endpoint},
		{`,"model":"`, &f.model},
		{`,"task":"`, &f.task},
		{`,"refusal":"`, &f.refusal},
		{`,"tag":"`, &f.tag},
	} {
		var ok bool
		*m.to, ok = l.member(m.name)
		plain = plain && ok
	}
	if !plain {
		if r, err := l.request(); err == nil {
			f.id, f.team, f.model, f.refusal = r.ID, r.Team, r.Model, r.Refusal
			f.upstreamID, f.traceID, f.key, f.endpoint, f.task, f.tag, method = r.UpstreamID, r.TraceID, r.Key, r.Endpoint, r.Task, r.Tag, r.Method
		}
	}
	f.poll = isPoll(f.endpoint, method)
	if _, list, found := strings.Cut(l.Text, `,"rules":`); found {
		_ = json.NewDecoder(strings.NewReader(list)).Decode(&f.rules) // an error leaves them empty
	}
	f.status, f.inner = l.number(`,"status":`), l.number(`,"upstream_error":`) // 0 is selected by no filter
	return f
}

// number returns the number of the member that begins with name; 0: no such member.
func (l Line) number(name string) (n int) {
	_, rest, _ := strings.Cut(l.Text, name)
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	n, _ = strconv.Atoi(rest[:max(end, 0)])
	return n
}

// isPoll reports whether a request is a poll of a task.
func isPoll(endpoint, method string) bool { return endpoint == "tasks" && method == "GET" }

// member returns the text of the member that begins with name; empty: no such member. Quotes inside texts are escaped, so a match is
// always a member. plain is false if the text has escapes, and so is not the value.
func (l Line) member(name string) (text string, plain bool) {
	_, rest, found := strings.Cut(l.Text, name)
	if !found {
		return "", true
	}
	text, _, found = strings.Cut(rest, `"`)
	return text, found && !strings.Contains(text, `\`)
}

// whole decodes the whole request, once for all readers of the line.
func (l Line) whole() (*Request, error) {
	if r := l.read.whole.Load(); r != nil {
		return r, nil
	}
	r, err := l.request()
	if err != nil {
		return nil, err
	}
	l.read.whole.Store(&r)
	return &r, nil
}

// Request is a finished request as read from its log line.
type Request struct {
	At time.Time `json:"time"` // when it arrived, in UTC
	ID string    `json:"id"`

	UpstreamID string   `json:"upstream_id"` // the service's
	TraceID    string   `json:"trace_id"`
	Team       string   `json:"team"` // empty: it had no valid key
	Key        string   `json:"key"`  // public id
	Method     string   `json:"method"`
	Route      string   `json:"route"` // empty: unknown path
	Endpoint   string   `json:"endpoint"`
	Kind       string   `json:"kind"`
	Model      string   `json:"model"`
	Task       string   `json:"task"`            // that it created or queried
	Status     int      `json:"status"`          // 499: the client left first
	Refusal    string   `json:"refusal"`         // stage/reason; empty: Sluice did not refuse it
	Cache      string   `json:"cache"`           // of a poll: the source of its answer
	Front      string   `json:"front"`           // the client's dialect; empty: the service's own
	Tag        string   `json:"tag"`             // its pairs, such as project=alpha,user=42
	Upstream   int      `json:"upstream_status"` // the service's status; 0: none
	Inner      int      `json:"upstream_error"`  // the status of an error inside an answer with another; 0: none
	Code       string   `json:"upstream_code"`   // of the service's error
	Reason     string   `json:"reason"`          // the message with which Sluice refused it; empty: not refused, or by an older replica
	Rules      []string `json:"rules"`           // the rules that refused it, or of which its client was warned

	Limit telemetry.Limit `json:"-"` // the limit that refused it, as it stood then; zero: none

	Usage    map[string]float64 `json:"usage"` // as the answer reported it; nil: not reported
	Cost     telemetry.Cost     `json:"-"`     // what it was charged
	Duration time.Duration      `json:"-"`
	Overhead time.Duration      `json:"-"` // Sluice's own part of Duration

	Line string `json:"-"` // the whole log line, in JSON
}

// LimitName returns the limit that refused the request and its owner, such as "images-day of team search" or "requests of key
// 7f3k9q2m4x1c"; empty: no limit refused it.
func (r *Request) LimitName() string {
	switch l := &r.Limit; {
	case l.Name == "":
		return ""
	case l.Scope == "team":
		return l.Name + " of team " + r.Team
	case l.Of == "":
		return l.Name + " of the " + l.Scope
	default:
		return strings.TrimSuffix(l.Name, "-"+l.Scope) + " of " + l.Scope + " " + l.Of
	}
}

// Outcome returns a record that has only how the request ended: its times, refusal and statuses.
func (r *Request) Outcome() *telemetry.Record {
	return &telemetry.Record{
		Time: r.At, Duration: r.Duration, Refusal: r.Refusal, Status: r.Status, UpstreamStatus: r.Upstream, UpstreamError: r.Inner,
	}
}

// request decodes the line.
func (l Line) request() (Request, error) {
	// Older replicas call the member tags. Quotes inside values are escaped, so nothing else is replaced.
	l.Text = strings.Replace(l.Text, `,"tags":"`, `,"tag":"`, 1)
	var in struct {
		Request
		Took float64        `json:"dur_ms"`
		Own  float64        `json:"overhead_ms"`
		Cost map[string]any `json:"cost"`
		Bar  struct {
			Name, Scope, Of, Unit, Per     string
			Used, Held, Left, Limit, Asked float64
		} `json:"limit"`
	}
	if err := json.Unmarshal([]byte(l.Text), &in); err != nil {
		return Request{}, fmt.Errorf("a kept log line cannot be read: %w", err)
	}
	r := in.Request
	r.Duration, r.Overhead, r.Line = milliseconds(in.Took), milliseconds(in.Own), l.Text
	if r.Cost.Known = in.Cost != nil; r.Cost.Known {
		r.Cost.Flag, _ = in.Cost["flag"].(string)
		for i := range unit.Table {
			n, _ := in.Cost[string(unit.Names[i])].(float64) // 0 if an older replica does not know the unit
			r.Cost.Amounts[i] = r.Cost.Money.Amount(unit.Names[i], n)
		}
	}
	of := func(n float64) int64 { return r.Limit.Money.Amount(unit.Name(in.Bar.Unit), n) }
	r.Limit = telemetry.Limit{Name: in.Bar.Name, Scope: in.Bar.Scope, Of: in.Bar.Of, Unit: in.Bar.Unit, Per: in.Bar.Per}
	r.Limit.Used, r.Limit.Held, r.Limit.Left, r.Limit.Limit, r.Limit.Asked = of(in.Bar.Used), of(in.Bar.Held), of(in.Bar.Left),
		of(in.Bar.Limit), of(in.Bar.Asked)
	return r, nil
}

func milliseconds(n float64) time.Duration {
	return time.Duration(math.Round(n*1000)) * time.Microsecond
}
