package clerk

import (
	"bytes"
	"context"
	"encoding/json"

	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/telemetry/recent"
)

// Request implements [pages.Requests].
func (d requestDesk) Request(ctx context.Context, p access.Person, id string) (pages.Request, error) {
	r, err := d.figures.Request(ctx, p, id)
	if err != nil {
		return pages.Request{}, err
	}
	q := pages.Request{RequestLine: lineOf(&r), Task: r.Task, Line: membersOf(r.Line)}
	for _, m := range q.Line {
		if m.Name == "trace_id" {
			_ = json.Unmarshal([]byte(m.Value), &q.TraceID) // else it is not a text
		}
	}
	return q, nil
}

func lineOf(r *recent.Request) pages.RequestLine {
	return pages.RequestLine{
		ID: r.ID, Team: r.Team, Model: r.Model, Refusal: r.Refusal, At: r.At, Status: r.Status,
		Tokens: r.Cost.Tokens, Images: r.Cost.Images, Cost: r.Cost.Spend, Duration: r.Duration, Overhead: r.Overhead,
	}
}

// membersOf lists the members of a log line in their order.
func membersOf(line string) (list []pages.Member) {
	d := json.NewDecoder(bytes.NewReader([]byte(line)))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return list
		}
		text, _ := name.(string)
		list = append(list, pages.Member{Name: text, Value: string(value)})
	}
	return list
}
