package figures

import (
	"context"
	"errors"
	"fmt"
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

// A panic where sums are made ahead is told, and the next look comes.
func TestAPanicEndsALookAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		kept := new(frail)
		f := New(Deps{Days: kept, House: noHouse{}, Now: time.Now, Panicked: func(p any, _ string) { told = append(told, fmt.Sprint(p)) }})
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go f.Run(ctx)
		time.Sleep(firstLook + failedFor + time.Second)
		synctest.Wait()
		if kept.looks.Load() != 2 || len(told) != 1 || !strings.HasPrefix(told[0], "the roof fell in") {
			t.Errorf("%d looks, and told %v", kept.looks.Load(), told)
		}
	})
}

// noHouse has no versions of days.
type noHouse struct{ House }

func (noHouse) Versions(context.Context, []int) ([]uint64, error) { return nil, nil }
