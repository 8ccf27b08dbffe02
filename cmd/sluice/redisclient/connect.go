package redisclient

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// OnConnect sets a function that is called for each new connection, before anything else is sent over it, with the context of the
// call that makes it and the name of Redis's process (run_id) at the other end; empty if Redis refuses to say it. If the function
// returns an error the connection is closed and the call fails with that error. Sentinels and a cluster's nodes are not asked.
func (c *Client) OnConnect(connected func(ctx context.Context, run string) error) {
	c.connected.Store(&connected)
	if c.aside != nil {
		c.aside.OnConnect(connected)
	}
}

// OnFull sets a function that is called when a call has waited for a connection for [PlaceWait] in vain.
func (c *Client) OnFull(full func()) {
	c.full.Store(&full)
	if c.aside != nil {
		c.aside.OnFull(full)
	}
}

func (c *Client) connect(ctx context.Context, conn *redis.Conn) error {
	connected := c.connected.Load()
	if connected == nil {
		return nil
	}
	info, err := conn.Info(context.WithValue(ctx, connecting{}, true), "server").Result()
	var said redis.Error
	if err != nil && !errors.As(err, &said) { // else Redis refused to say it
		return err
	}
	if strings.Contains(info, "redis_mode:sentinel") { // it only tells the master's address
		return nil
	}
	_, run, _ := strings.Cut(info, "run_id:")
	run, _, _ = strings.Cut(run, "\r")
	return (*connected)(ctx, run)
}
