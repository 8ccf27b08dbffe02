package telemetry

import (
	"strconv"
	"time"
)

// Settled is the data of the event that tells of a request that was settled, a JSON object: the members of its log line, as far as they are
// known by then, and time. It changes nothing of the record.
func (r *Record) Settled() []byte {
	own := *r
	own.clean()
	b := own.Time.UTC().AppendFormat(append(make([]byte, 0, 1024), `{"time":"`...), time.RFC3339Nano)
	return append(appendMembers(append(b, '"'), &own), '}')
}

// Ending is what the event that tells of the task's end says beside its results, a JSON object: usage and cost are as in its log line.
func (t *Task) Ending() []byte {
	b := append(make([]byte, 0, 512), '{')
	for _, m := range [...]struct{ name, text string }{{"task_id", t.ID}, {"request_id", t.Request}, {"model", shorten(t.Model)}, {"outcome", t.Outcome}} {
		b = appendQuoted(appendName(b, m.name), m.text)
	}
	b = strconv.AppendInt(appendName(b, "images"), t.Images, 10)
	b = appendUsage(appendName(b, "usage"), &t.Usage)
	b = appendCost(appendName(b, "cost"), &t.Cost)
	b = appendTime(appendName(b, "submit_time"), t.Submitted)
	return append(appendTime(appendName(b, "end_time"), t.Ended), '}')
}

func appendTime(b []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(b, `"2006-01-02T15:04:05.000Z"`)
}
