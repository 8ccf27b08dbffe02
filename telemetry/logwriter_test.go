package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/telemetry/otlp"
)

// F-D7: the pipe behind standard output is not read. Requests go on, lost lines are counted, stopping is bounded, and once
// the pipe is read again the stream reports the losses.
func TestFD7_BlockedOutput(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	l := NewLog(LogConfig{Writer: writer, Now: time.Now})
	const lines = 4 * mostLines // a pipe holds some 200 lines, and as many as may wait are being written
	var calls sync.WaitGroup
	for i := range 4 {
		calls.Go(func() {
			for range lines / 8 {
				write(l, Record{ID: fmt.Sprint(i)})
				l.Logger().Info("an event")
			}
		})
	}
	calls.Wait() // returns at all
	dropped := l.Dropped()
	if dropped == 0 || dropped >= lines {
		t.Errorf("%d of %d dropped", dropped, lines)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("closing a blocked log: %v", err)
	}
	write(l, Record{}) // too late
	if l.Dropped() != dropped+1 {
		t.Error("a late line is not counted")
	}
	out := make(chan string)
	go func() {
		all, _ := io.ReadAll(reader)
		out <- string(all)
	}()
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	got := <-out
	written := strings.Count(got, `"request"`) + strings.Count(got, `"an event"`)
	if uint64(written)+dropped != lines {
		t.Errorf("%d written and %d dropped of %d", written, dropped, lines)
	}
	if !strings.Contains(got, `"msg":"log lines dropped","lines":`) {
		t.Error("the stream does not report its losses")
	}
}

// fullDisk accepts so many bytes of each write, then fails, until it is repaired.
type fullDisk struct {
	strings.Builder
	room   int
	failed chan struct{}
	mended bool
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.mended || len(p) <= d.room {
		return d.Builder.Write(p)
	}
	n, _ := d.Builder.Write(p[:d.room])
	d.room, d.mended = 0, true
	close(d.failed)
	return n, errors.New("no space left on device")
}

func TestFD7_FullDisk(t *testing.T) {
	disk := &fullDisk{room: 20, failed: make(chan struct{})}
	l := NewLog(LogConfig{Writer: disk, Now: fixedNow})
	write(l, Record{ID: "lost"})
	<-disk.failed
	write(l, Record{ID: "kept"})
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(disk.String(), "\n")
	if l.Dropped() != 1 || len(lines) != 4 || !strings.Contains(disk.String(), `"kept"`) || len(lines[0]) != 20 {
		t.Errorf("dropped %d, written %q", l.Dropped(), lines)
	}
}

func TestClosingTwice(t *testing.T) {
	out := logged(t, LogConfig{}, func(l *Log) {
		for range 1000 {
			write(l, Record{})
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.Logger().Info("too late")
	})
	if n := strings.Count(out, "\n"); n != 1000 {
		t.Errorf("%d of 1000 lines", n)
	}
}

func TestWriteDoesNotAllocate(t *testing.T) {
	release := make(chan struct{})
	l := NewLog(LogConfig{Writer: valve{release}, Now: time.Now})
	record := fullRecord()
	record.Model = strings.Repeat("m", otlp.MaxValue)
	line := make([]byte, 0, 2<<10)
	if n := testing.AllocsPerRun(1000, func() { l.Write(&record, record.AppendLine(line)) }); n >= 1 {
		t.Errorf("%v allocations for a line", n)
	}
	close(release)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// valve lets writes through once it is opened.
type valve struct{ open chan struct{} }

func (v valve) Write(p []byte) (int, error) {
	<-v.open
	return len(p), nil
}
