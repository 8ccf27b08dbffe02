package recent_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"sluice/policy/limit/limittest"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// TestFiltersOfAComplaint: by what a client knows of its request, and by what an operator suspects.
func TestFiltersOfAComplaint(t *testing.T) {
	forms(t, func(t *testing.T, s store, clock *limittest.Clock, _ redis.UniversalClient) {
		c, start := collector(s, clock), clock.Now()
		for _, r := range []telemetry.Record{
			{ID: "0b6a0000-5d1e", UpstreamID: "up-000000", TraceID: "4bf92f3577b34da6", Team: "search", Key: "7f3k9q2m4x00", Endpoint: "text",
				Status: 200, Tags: "project=alpha,user=42", Broken: []telemetry.BrokenRule{{ID: "text.seed"}}},
			{ID: "r1", Team: "search", Key: "7f3k9q2m4x01", Endpoint: "image", Task: "d3400000-4e21", Status: 502, UpstreamStatus: 502,
				Tags: "project=beta"},
			{ID: "r2", Team: "search", Key: "7f3k9q2m4x01", Endpoint: "tasks", Method: "GET", Task: "d3400000-4e21", Status: 200},
			{ID: "r3", Team: "ads", Endpoint: "tasks", Method: "POST", Status: 502, Refusal: "forward/key", UpstreamStatus: 200,
				UpstreamError: 401},
			{ID: "r4", Team: "ads", Model: `odd"model`, Key: "k", Endpoint: "text", Status: 503, Refusal: "admit/state"},
			{ID: "r5", Team: "ads", Status: 400, Refusal: "inspect/rules",
				Broken: []telemetry.BrokenRule{{ID: "text.seed"}, {ID: "text.top_p", Refused: true}}},
			{ID: "r6", Team: "chat", Endpoint: "text", Status: 200, UpstreamStatus: 200, UpstreamError: 500, UpstreamCode: "InternalError"},
			{ID: "r7", Team: "chat", Endpoint: "text", Status: 200, UpstreamStatus: 200, UpstreamError: 400, UpstreamCode: "InvalidParameter"},
		} {
			r.Time = clock.Now()
			c.Note(&r, r.AppendLine(nil))
			clock.Move(time.Second)
		}
		post(t, c)
		for _, tt := range []struct {
			name   string
			filter recent.Filter
			want   string
		}{
			{"its id", recent.Filter{Any: "0b6a0000-5d1e"}, "0b6a0000-5d1e"},
			{"the beginning of its id", recent.Filter{Any: "0b6a0000"}, "0b6a0000-5d1e"},
			{"less of it", recent.Filter{Any: "0b6a000"}, ""},
			{"the id of the answer", recent.Filter{Any: "up-000000"}, "0b6a0000-5d1e"},
			{"its trace", recent.Filter{Any: "4bf92f3577b34da6"}, "0b6a0000-5d1e"},
			{"its task", recent.Filter{Any: "d3400000-4e21"}, "r2 r1"},
			{"its key", recent.Filter{Any: "7f3k9q2m4x00"}, "0b6a0000-5d1e"},
			{"of a foreign team", recent.Filter{Any: "up-000000", Teams: []string{"ads"}}, ""},
			{"a key", recent.Filter{Key: "7f3k9q2m4x01"}, "r2 r1"},
			{"a key, of a line with escapes", recent.Filter{Key: "k"}, "r4"},
			{"a pair of the tag", recent.Filter{Tag: "user=42"}, "0b6a0000-5d1e"},
			{"the whole tag", recent.Filter{Tag: "project=alpha,user=42"}, "0b6a0000-5d1e"},
			{"an endpoint", recent.Filter{Endpoint: "tasks"}, "r3 r2"},
			{"without polls", recent.Filter{NoPolls: true}, "r7 r6 r5 r4 r3 r1 0b6a0000-5d1e"},
			{"a rule that refused", recent.Filter{Rule: "text.top_p"}, "r5"},
			{"a rule that warned", recent.Filter{Rule: "text.seed"}, "0b6a0000-5d1e"},
			{"4xx, also inside an answer", recent.Filter{Class: recent.ClassClient}, "r7 r5"},
			{"5xx, also inside an answer", recent.Filter{Class: recent.ClassServer}, "r6 r4 r3 r1"},
			{"the status of an error inside an answer", recent.Filter{Status: 500}, "r6"},
			{"the status of the answer around it", recent.Filter{Status: 200, Teams: []string{"chat"}}, "r7 r6"},
			{"a worse status than that inside", recent.Filter{Status: 401}, ""},
			{"failed", recent.Filter{Class: recent.ClassFailed}, "r6 r3 r1"},
			{"refused", recent.Filter{Refusal: recent.AnyRefusal}, "r5 r4"},
			{"not refused", recent.Filter{Refusal: recent.NoRefusal}, "r7 r6 r2 r1 0b6a0000-5d1e"},
			{"failed without a refusal", recent.Filter{Class: recent.ClassFailed, Refusal: recent.NoRefusal}, "r6 r1"},
			{"refused or failed", recent.Filter{Refusal: recent.RefusedOrFailed}, "r6 r5 r4 r3 r1"},
			{"counted as failed", recent.Filter{Class: recent.ClassFailed, Teams: []string{"chat"}}, "r6"},
			{"until a time", recent.Filter{To: start.Add(2 * time.Second)}, "r1 0b6a0000-5d1e"},
		} {
			if got := ids(requests(t, s, tt.filter)); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		want := recent.Names{
			Teams: []string{"search"}, Keys: []string{"7f3k9q2m4x00", "7f3k9q2m4x01"}, Tags: []string{"project=alpha", "project=beta", "user=42"},
			Endpoints: []string{"image", "tasks", "text"}, Rules: []string{"text.seed"},
		}
		if diff := cmp.Diff(want, requests(t, s, recent.Filter{Teams: []string{"search"}, Suggest: true, Size: 1}).Names); diff != "" {
			t.Error(diff)
		}
	})
}
