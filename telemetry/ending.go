package telemetry

import (
	"strconv"
	"time"
)

// LongestEnding is how many bytes the data of a task's ending may have.
const LongestEnding = 16 << 10

// Ending is the data of the event that tells of the task's end, a JSON object: usage and cost are as in its log line, results has the
// addresses of its pictures. If that is too long, results is left out, and truncated says so.
func (t *Task) Ending(results []string) []byte {
	b := t.appendEnding(make([]byte, 0, 512))
	whole := append(appendName(b, "results"), '[')
	for i, url := range results {
		if i > 0 {
			whole = append(whole, ',')
		}
		whole = append(appendQuoted(append(whole, `{"url":`...), url), '}')
	}
	if whole = append(whole, "]}"...); len(whole) <= LongestEnding {
		return whole
	}
	return append(appendName(t.appendEnding(nil), "truncated"), "true}"...)
}

// Settled is the data of the event that tells of a request that was settled, a JSON object: the members of its log line, as far as they are
// known by then, and time. It changes nothing of the record.
func (r *Record) Settled() []byte {
	own := *r
	own.clean()
	b := own.Time.UTC().AppendFormat(append(make([]byte, 0, 1024), `{"time":"`...), time.RFC3339Nano)
	return append(appendMembers(append(b, '"'), &own), '}')
}

// appendEnding writes the members without results, and leaves the object open.
func (t *Task) appendEnding(b []byte) []byte {
	b = append(b, '{')
	for _, m := range [...]struct{ name, text string }{{"task_id", t.ID}, {"request_id", t.Request}, {"model", shorten(t.Model)}, {"outcome", t.Outcome}} {
		b = appendQuoted(appendName(b, m.name), m.text)
	}
	b = strconv.AppendInt(appendName(b, "images"), t.Images, 10)
	b = appendUsage(appendName(b, "usage"), &t.Usage)
	b = appendCost(appendName(b, "cost"), &t.Cost)
	b = appendTime(appendName(b, "submit_time"), t.Submitted)
	return appendTime(appendName(b, "end_time"), t.Ended)
}

func appendTime(b []byte, at time.Time) []byte {
	return at.UTC().AppendFormat(b, `"2006-01-02T15:04:05.000Z"`)
}
