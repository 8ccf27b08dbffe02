package mirror

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"sluice/gateway/upstream"
)

// Pictures of any number and size have their bytes, in the room that is counted for them: only so many are large at a time.
func TestBuffersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := make(chan struct{}, larges)
		for range larges {
			large <- struct{}{}
		}
		ctx, cancel := context.WithCancel(t.Context())
		piece := bytes.Repeat([]byte("picture "), 8<<10)
		fill := func(b *buffer, size int) (err error) {
			for len(b.bytes) < size && err == nil {
				_, err = b.Write(piece)
			}
			return err
		}
		var all [larges]*buffer
		for i := range all {
			all[i] = &buffer{ctx: ctx, large: large}
			if err := fill(all[i], largest); err != nil || cap(all[i].bytes) > largest || cap(all[i].own) > small {
				t.Fatal(err, cap(all[i].bytes), cap(all[i].own))
			}
		}
		if !bytes.Equal(all[0].bytes, bytes.Repeat(piece, largest/len(piece))) {
			t.Error("it has other bytes")
		}
		if _, err := all[0].Write(piece); !errors.Is(err, upstream.ErrTooLarge) {
			t.Error(err)
		}
		next, ended := &buffer{ctx: ctx, large: large}, make(chan error, 1)
		if err := fill(next, small); err != nil || cap(next.bytes) > small {
			t.Fatal(err, cap(next.bytes))
		}
		go func() { ended <- fill(next, small+1) }()
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("one more is large", <-ended)
		}
		all[0].reset()
		if err := <-ended; err != nil || len(all[0].bytes) != 0 || cap(all[0].bytes) > small {
			t.Error(err, cap(all[0].bytes))
		}
		go func() { ended <- fill(all[0], small+1) }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
