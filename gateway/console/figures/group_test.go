package figures

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPanicOfAReadingComesToItsReader(t *testing.T) {
	var g Group
	g.Go(func() error { panic("the roof fell in") })
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "the roof fell in\n") {
			t.Errorf("%q", text)
		}
	}()
	t.Errorf("no panic, %v", g.Wait())
}

// frail panics at its first reading.
type frail struct {
	Keeper
	looks atomic.Int64
}

func (f *frail) Load(context.Context, []int, []string) (map[DayBy]Sum, error) {
	if f.looks.Add(1) == 1 {
		panic("the roof fell in")
	}
	return nil, errors.New("away")
}

// A panic where sums are made ahead is logged, and the next look comes.
func TestAPanicEndsALookAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		kept := new(frail)
		f := New(Deps{Days: kept, House: noHouse{}, Now: time.Now})
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go f.Run(ctx, slog.New(slog.NewJSONHandler(&log, nil)))
		time.Sleep(firstLook + failedFor + time.Second)
		synctest.Wait()
		if text := log.String(); kept.looks.Load() != 2 || strings.Count(text, "\n") != 1 || !strings.Contains(text, `"level":"ERROR","msg":"panic"`) || !strings.Contains(text, "the roof fell in") {
			t.Errorf("%d looks, and the log says %s", kept.looks.Load(), text)
		}
	})
}

// noHouse has no versions of days.
type noHouse struct{ House }

func (noHouse) Versions(context.Context, []int) ([]uint64, error) { return nil, nil }
