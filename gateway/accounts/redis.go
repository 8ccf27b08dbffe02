package accounts

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scripts embed.FS

var (
	shareScript  = script("tell")
	pausesScript = script("pauses")
)

func script(name string) *redis.Script {
	text, err := scripts.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // it is not embedded
	}
	return redis.NewScript(string(text))
}

// coolingKey has the pauses of all accounts, and lives as long as the longest of them.
const coolingKey = "sl1:cooling"

// errReply is the error of a reply that these scripts do not give.
var errReply = errors.New("Redis sent the reply to another call")

// Redis shares pauses in Redis. It is safe for concurrent use.
type Redis struct {
	client  redis.Scripter
	timeout time.Duration // of a call
}

// NewRedis shares pauses through client.
func NewRedis(client redis.Scripter, timeout time.Duration) *Redis { return &Redis{client, timeout} }

// Share makes a pause known to the other replicas, unless they know a longer one.
func (r *Redis) Share(ctx context.Context, p Pause) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return shareScript.Run(ctx, r.client, []string{coolingKey}, p.Account+" "+p.Model, p.Wait.Milliseconds(), p.Step.Milliseconds(),
		p.Why).Err()
}

// Pauses returns the pauses that have not ended.
func (r *Redis) Pauses(ctx context.Context) ([]Pause, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	texts, err := pausesScript.Run(ctx, r.client, []string{coolingKey}).StringSlice()
	if err != nil {
		return nil, err
	}
	list := make([]Pause, 0, len(texts)/2)
	for i := 0; i+1 < len(texts); i += 2 {
		p, err := readPause(texts[i], texts[i+1])
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// readPause reads "account model" and "wait step why", the times in ms.
func readPause(name, text string) (p Pause, err error) {
	of, model, named := strings.Cut(name, " ")
	words := strings.SplitN(text, " ", 3)
	if !named || len(words) != 3 {
		return p, errReply
	}
	wait, failed := strconv.ParseInt(words[0], 10, 64)
	step, err := strconv.ParseInt(words[1], 10, 64)
	if err = errors.Join(failed, err); err != nil {
		return p, fmt.Errorf("%w: %w", errReply, err)
	}
	return Pause{of, model, time.Duration(wait) * time.Millisecond, time.Duration(step) * time.Millisecond, words[2]}, nil
}
