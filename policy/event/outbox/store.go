package outbox

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

var (
	//go:embed scripts
	scripts embed.FS

	// WriteLua is the library that writes events, for scripts of other packages that write one with their own change.
	WriteLua = part("tries") + part("write")

	appendScript = newScript("head", "tries", "write", "append")
	onceScript   = newScript("head", "tries", "write", "once")
	afterScript  = newScript("head", "after")
	dueScript    = newScript("head", "tries", "due")
	triedScript  = newScript("head", "tries", "write", "tried")
	againScript  = newScript("head", "tries", "write", "again")
	listedScript = newScript("head", "tries", "listed")
	indexScript  = newScript("index")
	oldestScript = newScript("head", "oldest")
	markedScript = newScript("marked")
	followScript = newScript("follow")
)

func part(name string) string {
	text, err := scripts.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

func newScript(parts ...string) *redis.Script {
	var source strings.Builder
	for _, name := range append([]string{"clock"}, parts...) {
		source.WriteString(part(name))
	}
	return redis.NewScript(source.String())
}

// store is the Redis and the settings of an outbox.
type store struct {
	Clock func() int64 // microseconds, 0: Redis's own clock, which is New's setting; for tests

	client redis.UniversalClient
	bounds event.Bounds
}

// timeAt is the time by the clock of a test, µs; 0: by this process's.
func timeAt(micros int64) time.Time {
	if micros > 0 {
		return time.UnixMicro(micros)
	}
	return time.Now()
}

const schema = "sl1:"

func keyOf(owner, end string) string { return schema + "{" + owner + "}:" + end }

// FirstsEnd is the suffix of the key with the names that an owner was announced once, for scripts of other packages
// that announce with their own change.
const FirstsEnd = "firsts"

func eventsKey(owner string) string { return keyOf(owner, "events") }

// nameOf is a hook's name in keys, pairs and targets.
func nameOf(a event.Address) string {
	if a.Owner == event.Operators {
		return "@" + a.Hook
	}
	return a.Hook
}

// addressOf is the hook that an event of an owner names so.
func addressOf(owner, name string) event.Address {
	if hook, operators := strings.CutPrefix(name, "@"); operators {
		return event.Address{Owner: event.Operators, Hook: hook}
	}
	return event.Address{Owner: owner, Hook: name}
}

// pair names an owner of events and a hook in the index.
func pair(owner string, a event.Address) string { return owner + " " + nameOf(a) }

// seatsOf names the hook of a pair in the keys of seats: an operators' hook has one set of seats for the events of all
// owners.
func seatsOf(owner string, a event.Address) string {
	if a.Owner == event.Operators {
		return nameOf(a)
	}
	return pair(owner, a)
}

// seatOf names a delivery that is under way.
func seatOf(d *event.Delivery) string {
	return d.Event.ID.Owner + " " + placeOf(d.Event.ID) + " " + d.Path
}

// target is a target as the scripts write it.
func target(a event.Address, path string) string {
	if path == "" {
		return nameOf(a)
	}
	return nameOf(a) + " " + path
}

// run runs a script with one key.
func (o *store) run(ctx context.Context, s *redis.Script, key string, args ...any) ([]any, error) {
	return s.Run(ctx, o.client, []string{key}, args...).Slice()
}

// runEach runs a script with each key and its arguments, in one round trip. Each call has its error.
func (o *store) runEach(ctx context.Context, s *redis.Script, keys []string, args [][]any) []*redis.Cmd {
	calls, pipe, again := make([]*redis.Cmd, len(keys)), o.client.Pipeline(), o.client.Pipeline()
	for i, key := range keys {
		calls[i] = s.EvalSha(ctx, pipe, []string{key}, args[i]...)
	}
	_, _ = pipe.Exec(ctx)
	for i, key := range keys {
		if redis.HasErrorPrefix(calls[i].Err(), "NOSCRIPT") { // a part of Redis does not have it yet
			calls[i] = s.Eval(ctx, again, []string{key}, args[i]...)
		}
	}
	_, _ = again.Exec(ctx)
	return calls
}

func placeOf(id event.ID) string { return fmt.Sprintf("%d-%d", id.Millis, id.Number) }
