package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

// Work that panics is logged with its stack, and work that lasts begins again after a pause.
func TestWorkOutlivesItsPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		log := slog.New(slog.NewTextHandler(&said, nil))
		if Fence(log, "one", func() { panic("broken") }) || !Fence(log, "two", func() {}) {
			t.Error("it says nothing of the panic")
		}
		begun := 0
		ctx, stop := context.WithTimeout(t.Context(), 5*panicPause)
		defer stop()
		Keep(ctx, log, "three", func(ctx context.Context) {
			if begun++; begun < 3 {
				panic("it, too")
			}
			<-ctx.Done()
		})
		text := said.String()
		if begun != 3 || strings.Count(text, "msg=panic work=three") != 2 || !strings.Contains(text, "work=one panic=broken") ||
			!strings.Contains(text, "TestWorkOutlivesItsPanics") || strings.Contains(text, "work=two") {
			t.Errorf("it was begun %d times; the log is %s", begun, text)
		}
	})
}
