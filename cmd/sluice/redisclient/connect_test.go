package redisclient

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestEachConnectionTellsItsProcess: the function refuses the first connection, and its call fails; the next is used.
func TestEachConnectionTellsItsProcess(t *testing.T) {
	c := open(t, startRedis(t), time.Second)
	refused := errors.New("another process")
	var runs []string
	c.OnConnect(func(_ context.Context, run string) error {
		runs = append(runs, run)
		if len(runs) == 1 {
			return refused
		}
		return nil
	})
	if err := c.Ping(t.Context()).Err(); !errors.Is(err, refused) {
		t.Errorf("the first call fails with %v, want %v", err, refused)
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	if len(runs) != 2 || len(runs[0]) != 40 || runs[0] != runs[1] {
		t.Errorf("the connections are to the processes %q, want one name of 40 letters, told twice", runs)
	}
}
