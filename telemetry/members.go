package telemetry

import (
	"slices"
	"strconv"
	"time"
)

// member is one member of a request's log line. Exactly one of text, list, limit, number, duration and cost is set; the usage has none.
type member struct {
	name     string
	rare     bool // left out if empty
	text     func(r *Record) *string
	long     bool // the text may have maxReason bytes
	list     func(r *Record) []string
	limit    func(r *Record) *Limit
	number   func(r *Record) int64
	duration func(r *Record) time.Duration // written in milliseconds
	cost     func(r *Record) *Cost

	prefix string // the comma, the name and the colon, in JSON
}

// members are the members of a log line after time, level and msg, in order; every form of the line walks them. A member never
// changes its type: an unknown text is "", an unknown number 0; only usage, cost and held are null if unknown.
var members = prefixed([]member{
	{name: "id", text: func(r *Record) *string { return &r.ID }},
	{name: "upstream_id", text: func(r *Record) *string { return &r.UpstreamID }},
	{name: "trace_id", text: func(r *Record) *string { return &r.TraceID }},
	{name: "team", text: func(r *Record) *string { return &r.Team }},
	{name: "key", text: func(r *Record) *string { return &r.Key }},
	{name: "client", text: func(r *Record) *string { return &r.Client }},
	{name: "method", text: func(r *Record) *string { return &r.Method }},
	{name: "route", text: func(r *Record) *string { return &r.Route }},
	{name: "endpoint", text: func(r *Record) *string { return &r.Endpoint }},
	{name: "kind", text: func(r *Record) *string { return &r.Kind }},
	{name: "model", text: func(r *Record) *string { return &r.Model }},
	{name: "task", text: func(r *Record) *string { return &r.Task }},
	{name: "status", number: func(r *Record) int64 { return int64(r.Status) }},
	{name: "refusal", text: func(r *Record) *string { return &r.Refusal }},
	{name: "cache", text: func(r *Record) *string { return &r.Cache }},
	{name: "usage"},
	{name: "cost", cost: func(r *Record) *Cost { return &r.Cost }},
	{name: "held", cost: func(r *Record) *Cost { return &r.Held }},
	{name: "dur_ms", duration: func(r *Record) time.Duration { return r.Duration }},
	{name: "overhead_ms", duration: func(r *Record) time.Duration { return r.Overhead }},
	{name: "queue_ms", duration: func(r *Record) time.Duration { return r.Queued }},
	{name: "first_byte_ms", duration: func(r *Record) time.Duration { return r.FirstByte }},
	{name: "bytes_in", number: func(r *Record) int64 { return r.BytesIn }},
	{name: "bytes_out", number: func(r *Record) int64 { return r.BytesOut }},
	{name: "upstream_status", number: func(r *Record) int64 { return int64(r.UpstreamStatus) }},
	{name: "upstream_error", rare: true, number: func(r *Record) int64 { return int64(r.UpstreamError) }},
	{name: "upstream_code", rare: true, text: func(r *Record) *string { return &r.UpstreamCode }},
	{name: "account", rare: true, text: func(r *Record) *string { return &r.Account }},
	{name: "tag", rare: true, text: func(r *Record) *string { return &r.Tags }},
	{name: "front", rare: true, text: func(r *Record) *string { return &r.Front }},
	{name: "task_status", rare: true, text: func(r *Record) *string { return &r.TaskStatus }},
	{name: "reason", rare: true, long: true, text: func(r *Record) *string { return &r.Reason }},
	{name: "rules", rare: true, list: (*Record).rules},
	{name: "limit", rare: true, limit: func(r *Record) *Limit { return &r.Limit }},
})

func prefixed(list []member) []member {
	for i := range list {
		list[i].prefix = `,"` + list[i].name + `":`
	}
	return list
}

// shown reports whether the line of a record has the member.
func (m *member) shown(r *Record) bool {
	switch {
	case !m.rare:
		return true
	case m.list != nil:
		return len(m.list(r)) > 0
	case m.limit != nil:
		return m.limit(r).Name != ""
	case m.number != nil:
		return m.number(r) != 0
	}
	return *m.text(r) != ""
}

// rules returns the ids of the rules that refused the request, or else of those that its client was warned of.
func (r *Record) rules() (ids []string) {
	refused := slices.ContainsFunc(r.Broken, func(b BrokenRule) bool { return b.Refused })
	for _, rule := range r.Broken {
		if rule.Refused == refused {
			ids = append(ids, rule.ID)
		}
	}
	return ids
}

// append writes the member's value in JSON.
func (m *member) append(b []byte, r *Record) []byte {
	switch {
	case m.text != nil:
		return appendQuoted(b, *m.text(r))
	case m.number != nil:
		return strconv.AppendInt(b, m.number(r), 10)
	case m.duration != nil:
		return appendFloat(b, inMilliseconds(m.duration(r)))
	case m.cost != nil:
		return appendCost(b, m.cost(r))
	case m.list != nil:
		return appendList(b, m.list(r))
	case m.limit != nil:
		return m.limit(r).append(b)
	}
	return appendUsage(b, &r.Usage)
}
