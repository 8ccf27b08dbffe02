package main

import (
	"context"
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// losing lets Redis do its work, and loses the replies to so many scripts.
type losing struct{ replies int }

func (l *losing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *losing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "evalsha" && l.replies > 0 {
			l.replies--
			err = io.ErrUnexpectedEOF
			cmd.SetErr(err)
		}
		return err
	}
}

func (l *losing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A correction whose reply is lost is posted once. If it may or may not have been posted, its id is shown.
func TestAdjustLostReplies(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: startRedis(t).address(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	lost := &losing{}
	client.AddHook(lost)
	accounts := redisstore.New(client)
	a := adjustCommand{Team: "search", Unit: teams.UnitImages, Delta: "5", Reason: "test"}
	for _, tt := range []struct {
		lost       int
		told, fail string
	}{
		{0, "images of team search by 5: day 5, was 0; month 5, was 0", ""},
		{1, "images of team search by 5: day 10; month 10", ""},
		{2, "", "may or may not have been posted"},
		{0, "images of team search by 5: day 20, was 15; month 20, was 15", ""},
	} {
		lost.replies = tt.lost
		told, err := a.post(t.Context(), accounts, "adjust-"+rand.Text(), 5)
		if !strings.HasSuffix(told, tt.told) || (err != nil) != (tt.fail != "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%d replies lost: %q, %v", tt.lost, told, err)
		}
	}
}
