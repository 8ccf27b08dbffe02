package simulator

import (
	"testing"
	"time"
)

func TestConfigDefaults(t *testing.T) {
	c := Config{BaseURL: "http://pictures.example/"}.withDefaults()
	if c.Now == nil || c.Log == nil || c.Zone == nil {
		t.Error("a nil function or zone has no default")
	}
	c.Log("nothing %d", 1) // must not panic
	for name, tt := range map[string][2]any{
		"base without slash": {c.BaseURL, "http://pictures.example"},
		"header prefix":      {c.HeaderPrefix, "X-Service-"},
		"task life":          {c.TaskTTL, 24 * time.Hour},
		"task rate":          {c.TaskRate, 20},
		"tasks kept":         {c.MaxTasks, 10_000},
		"spelling":           {c.Canceled, "CANCELED"},
		"tokens per frame":   {c.FrameTokens, 4},
		"longest output":     {c.MaxOutput, 2048},
		"requests kept":      {c.KeepRequests, 256},
		"body kept":          {c.KeepBody, 64 << 10},
		"longest body":       {c.MaxBody, int64(128 << 20)},
	} {
		if tt[0] != tt[1] {
			t.Errorf("%s is %v, want %v", name, tt[0], tt[1])
		}
	}
	if _, offset := time.Now().In(c.Zone).Zone(); offset != 8*60*60 {
		t.Errorf("zone is %d seconds east, want UTC+8", offset)
	}
}

func TestConfigKeepsWhatIsSet(t *testing.T) {
	c := Config{TaskRate: -1, KeepRequests: -1, KeepBody: -1, SyncImageModels: []string{}}.withDefaults()
	if c.TaskRate != -1 || c.KeepRequests != -1 || c.KeepBody != -1 {
		t.Errorf("a negative setting was replaced: %+v", c)
	}
	if len(c.SyncImageModels) != 0 {
		t.Error("an empty list counts as nil")
	}
}
