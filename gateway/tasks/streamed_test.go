package tasks

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway/billing"
	"sluice/policy/limit"
	"sluice/policy/unit"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// What is kept of a stream costs what the stream costs.
func TestWhatIsKeptOfAStream(t *testing.T) {
	for _, frames := range []string{
		`{"output":{"task_id":"t","choices":[{"message":{"content":[{"image":"https://pictures/1"}]}}]}}`,
		`{"usage":{"image_count":2,"size":"1024*768"}}`,
		`{"usage":{"image_count":2,"width":1024,"height":768}}`,
		`{"usage":{"image_count":1,"size":"2K","of_another":3}}`,
		`{"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":20,"image_count":0,"input_tokens_details":{"cached_tokens":4,` +
			`"image_tokens":3,"cache_type":"ephemeral"},"output_tokens_details":{"reasoning_tokens":2}}}`,
		`{"usage":{"total_tokens":20}}`,
	} {
		reads := meter.New("text/event-stream", "")
		_, _ = reads.Write([]byte("data:" + frames + "\n\n"))
		stream := reads.End()
		kept := read([]byte(counted("t", &stream)))
		if got, want := billing.UsageOf(&kept, true, "1K"), billing.UsageOf(&stream, true, "1K"); !reflect.DeepEqual(got, want) ||
			kept.TaskID != "t" || kept.TaskStatus != "SUCCEEDED" {
			t.Errorf("%s is kept as %+v, want %+v", frames, got, want)
		}
		if got, want := billing.Tells(&kept, true, true), billing.Tells(&stream, true, true); got != want {
			t.Errorf("%s tells %v, want %v", frames, got, want)
		}
	}
}

// What a stream counts while a query about its task is under way is what that query's answer is charged by, if it counts nothing.
func TestAStreamThatEndsDuringAQueryCounts(t *testing.T) {
	var tasks *Tasks
	var charged limit.Amounts
	tasks = New(Config{TTL: time.Hour, Interval: time.Second}, Deps{
		Now: time.Now, Claims: cache.NewClaims(time.Hour, time.Now), Queries: cache.NewQueries(20, time.Now),
		Logger: slog.New(slog.DiscardHandler), Label: func(model string) string { return model }, Money: func() unit.Money { return unit.Nanos },
		Has: func(string) bool { return true }, QueryRate: func(string) int { return 0 },
		Cover: func(text string) string { return text }, Shown: func(account string) string { return account },
		Query: func(*cache.Claim, Origin) (Reply, error) {
			reading := read([]byte(`{"usage":{"image_count":1}}`))
			tasks.Streamed(context.Background(), "search", "t1", &reading)
			return Reply{Status: http.StatusOK, Body: []byte(`{"output":{"task_id":"t1","task_status":"SUCCEEDED"}}`)}, nil
		},
		Charge: func(_ context.Context, c *limit.Charge) {
			charged = c.Amounts
			c.Taken(true)
		},
	})
	claim := cache.Claim{Team: "search", Task: "t1", Answer: cache.Answer{Task: "t1", Status: cache.Pending},
		Hold: cache.Hold{ID: "h", Images: 4}}
	if _, ok := tasks.Put(t.Context(), claim, false); !ok {
		t.Fatal("it is not the team's")
	}
	claim, _, _ = tasks.deps.Claims.Get(t.Context(), "search", "t1")
	if answer := tasks.Look(t.Context(), claim, telemetry.Span{}); !answer.Claim.Final() || charged[limit.Images] != 1 {
		t.Errorf("%+v; charged %v", answer, charged)
	}
}
