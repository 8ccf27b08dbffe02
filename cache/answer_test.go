package cache_test

import (
	"testing"
	"time"

	"sluice/cache"
)

func TestReadAnswer(t *testing.T) {
	zone := time.FixedZone("", 8*60*60)
	for _, tt := range []struct {
		name, body string
		want       cache.Answer
	}{
		{"creation", `{"output":{"task_status":"PENDING","task_id":"a-1"},"request_id":"r"}`, cache.Answer{Task: "a-1", Status: cache.Pending}},
		{
			"ended", `{"request_id":"r","output":{"task_id":"a","task_status":"SUCCEEDED","submit_time":"2026-11-21 20:00:00.123",` +
				`"scheduled_time":"2026-11-21 20:00:01","end_time":"2026-11-21 20:00:09.5","finished":true}}`,
			cache.Answer{
				Task: "a", Status: cache.Succeeded, Submitted: time.Date(2026, 11, 21, 12, 0, 0, 123e6, time.UTC),
				Scheduled: time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC), Ended: time.Date(2026, 11, 21, 12, 0, 9, 500e6, time.UTC),
			},
		},
		{"a time that is none", `{"output":{"task_id":"a","task_status":"RUNNING","submit_time":"yesterday"}}`,
			cache.Answer{Task: "a", Status: cache.Running}}, {"error", `{"code":"InternalError","message":"m","request_id":"r"}`, cache.Answer{}},
		{"no JSON", `<html>`, cache.Answer{}},
		{"empty", ``, cache.Answer{}},
	} {
		got := cache.ReadAnswer([]byte(tt.body), zone)
		got.Submitted, got.Scheduled, got.Ended = got.Submitted.UTC(), got.Scheduled.UTC(), got.Ended.UTC()
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
