package simulator

import (
	"cmp"
	"strings"
	"time"

	"sluice/gateway/simulator/billing"
)

// Config is the settings of a Simulator. The zero value accepts every Bearer key, finishes tasks before
// their first query and streams without pauses.
type Config struct {
	// Accounts are the customers of the service, by their ids on the bill and in faults.
	Accounts map[string]Account

	// Keys are the keys of the account billing.Account, which exists if Accounts is empty or Keys is not. Empty accepts every key.
	Keys []string

	// Now is the clock of tasks, rate limits and address expiry; nil is time.Now. The delays of faults and FrameDelay
	// use real timers.
	Now func() time.Time

	// BaseURL is the root of image addresses, such as "http://127.0.0.1:9000", without a path. Empty derives it from
	// the Host header of the request that made the image.
	BaseURL string

	// HeaderPrefix begins the service's own header names, ignoring case. Empty is "X-Service-".
	HeaderPrefix string

	// Pending and Running are how long a task waits and works. Zero means no time at all: with both zero a task has
	// ended at its first query. A creation always answers PENDING.
	Pending, Running time.Duration

	// TaskRate is the default of Account.TaskRate. Zero is 20, negative means no limit.
	TaskRate int

	// MaxTasks bounds the kept tasks; the oldest is dropped, and so UNKNOWN. Zero is 10,000.
	MaxTasks int

	// FrameDelay is the pause before every stream frame. Zero means no pause.
	FrameDelay time.Duration

	// FrameTokens is how many tokens a stream frame adds. Zero is 4.
	FrameTokens int

	// MaxOutput bounds the answer of a chat model in tokens, without thinking. Zero is 2,048.
	MaxOutput int

	// KeepRequests bounds the requests that Requests returns. Zero is 256, negative keeps none.
	KeepRequests int

	// KeepBody bounds the kept bytes of each body; the hash covers all of it. Zero is 64 KiB, negative keeps none.
	KeepBody int

	// MaxBody bounds a request's body in bytes; a longer one is answered 413. Zero is 128 MiB.
	MaxBody int64

	// Script are the tool calls of the chat models, turn by turn: a conversation in which tools were called n times gets the calls at
	// index n, and none beyond the end. A request that lacks one of the tools is answered as without a script.
	Script [][]ScriptedCall

	// Prices is the price list of the bill. Nil is billing.Standard.
	Prices billing.List

	// Control lets any client set the service's faults over HTTP, without a key: PUT /faults with a JSON list of Fault. Member names ignore
	// case, and Delay is written like "2s". An empty list makes the service healthy.
	Control bool

	// Log receives one line per request; nil logs nothing.
	Log func(format string, args ...any)
}

// withDefaults returns c with zeros replaced by the defaults.
func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	if c.Prices == nil {
		c.Prices = billing.Standard
	}
	c.HeaderPrefix = cmp.Or(c.HeaderPrefix, "X-Service-")
	c.TaskRate = cmp.Or(c.TaskRate, 20)
	c.MaxTasks = cmp.Or(c.MaxTasks, 10_000)
	c.FrameTokens = cmp.Or(c.FrameTokens, 4)
	c.MaxOutput = cmp.Or(c.MaxOutput, 2048)
	c.KeepRequests = cmp.Or(c.KeepRequests, 256)
	c.KeepBody = cmp.Or(c.KeepBody, 64<<10)
	c.MaxBody = cmp.Or(c.MaxBody, 128<<20)
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	return c
}
