package simulator

import (
	"cmp"
	"strings"
	"time"

	"sluice/gateway/simulator/rules"
	"sluice/gateway/simulator/task"
)

// Config is the settings of a Simulator. The zero value accepts every Bearer key and every model, finishes tasks before
// their first query and streams without pauses.
type Config struct {
	// Keys are the API keys that are accepted. Empty accepts every key. See also Simulator.SetKeys.
	Keys []string

	// Now is the clock of tasks, rate limits and address expiry; nil is time.Now. The delays of faults and FrameDelay
	// use real timers.
	Now func() time.Time

	// BaseURL is the root of image addresses, such as "http://127.0.0.1:9000", without a path. Empty derives it from
	// the Host header of the request that made the image.
	BaseURL string

	// HeaderPrefix is the word in front of the service's own header names, matched without regard to case. Empty is
	// "X-Service-".
	HeaderPrefix string

	// Pending and Running are how long a task waits and works. Zero means no time at all: with both zero a task has
	// ended at its first query. A creation always answers PENDING.
	Pending, Running time.Duration

	// TaskSlots is how many tasks of one model run at once; more wait in PENDING. Zero means no bound.
	TaskSlots int

	// TaskTTL is how long tasks and image addresses stay valid. Zero is 24 h.
	TaskTTL time.Duration

	// TaskRate is how many queries, lists and cancels (each counted on its own, all keys together) pass in any second
	// of Now. Zero is 20, negative means no limit.
	TaskRate int

	// MaxTasks bounds the tasks remembered; the oldest is forgotten, and so UNKNOWN. Zero is 10,000.
	MaxTasks int

	// Zone is the zone of the times inside task answers. Nil is UTC+8.
	Zone *time.Location

	// TimeLayout is the form of those times. Empty is "2006-01-02 15:04:05.000".
	TimeLayout string

	// Canceled is how the service spells that state. Empty is "CANCELED".
	Canceled string

	// LooseInterleave lets enable_interleave on the asynchronous path do without parameters.stream and the SSE header,
	// as real services do.
	LooseInterleave bool

	// NullFinish sends a JSON null where the service sends the string "null" as the finish_reason of an unfinished
	// stream frame.
	NullFinish bool

	// FrameDelay is the pause before every stream frame. Zero means no pause.
	FrameDelay time.Duration

	// FrameTokens is how many tokens a stream frame adds. Zero is 4.
	FrameTokens int

	// MaxOutput is the longest answer of a chat model in tokens, thinking not counted. Zero is 2,048.
	MaxOutput int

	// The lists below hold model patterns, in which * stands for any run of characters. Models nil is every model;
	// another model is ModelNotFound.
	Models []string
	// SyncImageModels answer on the multimodal path with an image; nil is "llm-image*" and the text-to-image model
	// "gen2.6-t2i*".
	SyncImageModels []string
	// EditImageModels obey the rules of asynchronous image editing; nil is "gen2.6-image*".
	EditImageModels []string
	// MessageModels default to result_format message. Nil means no model.
	MessageModels []string
	// ThinkingModels do not allow result_format text in thinking mode. Nil means no model.
	ThinkingModels []string
	// VisionModels refuse tools. Nil means no model.
	VisionModels []string

	// KeepRequests is how many requests Requests remembers. Zero is 256, negative keeps none.
	KeepRequests int

	// KeepBody is how many bytes of each body are remembered; the hash always covers all of it. Zero is 64 KiB,
	// negative keeps none.
	KeepBody int

	// MaxBody is the longest request body in bytes; a longer one is answered 413. Zero is 128 MiB.
	MaxBody int64

	// Log receives one line per request; nil logs nothing.
	Log func(format string, args ...any)
}

// withDefaults returns c with every zero replaced by its meaning.
func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Zone == nil {
		c.Zone = time.FixedZone("UTC+8", 8*60*60)
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	if c.SyncImageModels == nil {
		c.SyncImageModels = []string{"llm-image*", "gen2.6-t2i*"}
	}
	if c.EditImageModels == nil {
		c.EditImageModels = []string{"gen2.6-image*"}
	}
	c.HeaderPrefix = cmp.Or(c.HeaderPrefix, "X-Service-")
	c.TaskTTL = cmp.Or(c.TaskTTL, 24*time.Hour)
	c.TaskRate = cmp.Or(c.TaskRate, 20)
	c.MaxTasks = cmp.Or(c.MaxTasks, 10_000)
	c.TimeLayout = cmp.Or(c.TimeLayout, "2006-01-02 15:04:05.000")
	c.Canceled = cmp.Or(c.Canceled, "CANCELED")
	c.FrameTokens = cmp.Or(c.FrameTokens, 4)
	c.MaxOutput = cmp.Or(c.MaxOutput, 2048)
	c.KeepRequests = cmp.Or(c.KeepRequests, 256)
	c.KeepBody = cmp.Or(c.KeepBody, 64<<10)
	c.MaxBody = cmp.Or(c.MaxBody, 128<<20)
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	return c
}

// rules are the settings of the rules.
func (c *Config) rules() rules.Book {
	return rules.Book{
		HeaderPrefix: c.HeaderPrefix, LooseInterleave: c.LooseInterleave,
		Models: c.Models, EditModels: c.EditImageModels, MessageModels: c.MessageModels,
		ThinkingModels: c.ThinkingModels, VisionModels: c.VisionModels,
	}
}

// tasks are the settings of tasks.
func (c *Config) tasks() task.Settings {
	return task.Settings{
		Pending: c.Pending, Running: c.Running, TTL: c.TaskTTL, Slots: c.TaskSlots, Max: c.MaxTasks,
		Zone: c.Zone, TimeLayout: c.TimeLayout, Canceled: c.Canceled,
	}
}
