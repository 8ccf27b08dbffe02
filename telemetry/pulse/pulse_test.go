package pulse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/telemetry"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// send notes requests, each a second after the one before: u unreachable, s silent, 5 answered with 503, . answered, r refused by a limit,
// p a poll of the service that failed, t told to wait by the service, e an error in a stream, f one that a front made an error of its own,
// w told to wait in a stream, c a task that ended without pictures, of which a front made an error.
func send(r *Ring, requests string) (now time.Time) {
	for i, c := range requests {
		record := telemetry.Record{Time: noon.Add(time.Duration(i) * time.Second), Status: 200, UpstreamStatus: 200}
		switch c {
		case 'u':
			record.Refusal, record.Status, record.UpstreamStatus = "forward/unreachable", 502, 0
		case 's':
			record.Refusal, record.Status, record.UpstreamStatus = "forward/silent", 504, 0
		case '5':
			record.Status, record.UpstreamStatus = 503, 503
		case 'r':
			record.Refusal, record.Status, record.UpstreamStatus = "admit/rate", 429, 0
		case 't':
			record.Status, record.UpstreamStatus = 429, 429
		case 'e':
			record.UpstreamError = 500
		case 'f':
			record.Status, record.UpstreamError = 503, 503
		case 'c':
			record.Status = 500
		case 'w':
			record.Status, record.UpstreamError = 429, 429
		case 'p':
			record.Endpoint, record.Status, record.UpstreamStatus = "tasks", 500, 500
		}
		r.Note(&record)
	}
	return noon.Add(time.Duration(len(requests)) * time.Second)
}

func TestFaultOfTheService(t *testing.T) {
	const many = "uuuuuuuuuuuuuuuuuuuuuuuuu"
	for _, tt := range []struct{ requests, want string }{
		{"", ""},
		{"..", ""},
		{"uu", ""},
		{"uuu", "3 of the last 3 requests failed, could not be reached 12:00:00"},
		{"...........uuu", "3 of the last 14 requests failed, could not be reached 12:00:11"},
		{"................uuu", ""},
		// since it began, not since the oldest that counts
		{"u...u...u" + strings.Repeat("...u", 30), "7 of the last 25 requests failed, could not be reached 12:00:00"},
		{"." + many + many, "25 of the last 25 requests failed, could not be reached 12:00:01"}, // since the first in a row
		{many + ".........................", ""},
		{"u....s....u....5....5....", "5 of the last 25 requests failed, 2 answered 503, 2 could not be reached, 1 did not answer in time " +
			"12:00:00"},
		{"rrrrrrrrrrrrrrrrr", ""},
		{"tttttttttt", ""},
		{"wwwwwwwwww", ""},
		{"cccccccccc", ""},
		{"eeff.", "4 of the last 5 requests failed, 2 answered 500, 2 answered 503 12:00:00"},
		{"pppppppppp", ""},
		{"uuurrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr", "3 of the last 3 requests failed, could not be reached 12:00:00"},
	} {
		r, got := new(Ring), ""
		now := send(r, tt.requests)
		if f, wrong := r.Fault(now); wrong {
			got = fmt.Sprint(f.Text, " ", f.Since.Format(time.TimeOnly))
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.requests, got, tt.want)
		}
		if err := r.State(now); (err != nil) != (tt.want != "") {
			t.Errorf("%s: %v", tt.requests, err)
		}
		if _, wrong := r.Fault(now.Add(2 * lasts)); wrong {
			t.Errorf("%s is a fault hours later", tt.requests)
		}
	}
}
