package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The pipe behind standard output is not read. Requests go on, lost lines are counted, stopping is bounded, and once
// the pipe is read again the stream reports the losses.
func TestBlockedOutput(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	l := NewLog(LogConfig{Writer: writer, Now: time.Now})
	const lines = 4 * maxLines // a pipe holds some 200 lines, and as many as may wait are being written
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

// sink is an output that may wait and fail.
type sink struct {
	strings.Builder
	parts          []string      // each write
	faults         []int         // how many bytes the first writes take before they fail
	began, release chan struct{} // a write signals the first, and waits for the second; nil: it does not
}

func (s *sink) Write(p []byte) (n int, err error) {
	if s.release != nil {
		select {
		case s.began <- struct{}{}:
		default:
		}
		<-s.release
	}
	if len(s.faults) > 0 {
		p, err = p[:min(s.faults[0], len(p))], errors.New("no space left on device")
		s.faults = s.faults[1:]
	}
	s.parts = append(s.parts, string(p))
	_, _ = s.Builder.Write(p)
	return len(p), err
}

// While the disk is full, the line that reports losses is lost, too. It is written once there is room, and does not count as one
// of the process's lines.
func TestLossesAreToldOnceThereIsRoom(t *testing.T) {
	disk := &sink{faults: []int{0, 0, 0}}
	l := &Log{config: LogConfig{Writer: disk, Now: fixedNow, Level: slog.LevelInfo}}
	w := &lineWriter{log: l}
	for _, lines := range []int{3, 2, 1, 1} { // the first two are lost, and the line in between
		for range lines {
			l.waiting.add([]byte("{}\n"))
		}
		w.drain(nil)
	}
	if told, dropped := toldIn(disk.String()), l.Dropped(); told != 5 || dropped != 5 {
		t.Errorf("5 lines are lost, %d are told and %d counted:\n%s", told, dropped, disk.String())
	}
	if fault := l.Fault(); fault == nil || !strings.Contains(fault.Error(), "no space left on device") {
		t.Errorf("the last failure of a write is %v", fault)
	}
}

// A write that failed long ago explains no later loss.
func TestAFaultExplainsOnlyItsOwnLosses(t *testing.T) {
	l := &Log{config: LogConfig{Writer: &sink{faults: []int{0}}, Now: fixedNow, Level: slog.LevelInfo}}
	w := &lineWriter{log: l}
	l.waiting.add([]byte("{}\n"))
	if w.drain(nil); l.Fault() == nil {
		t.Error("a write failed, and that is not told")
	}
	for range maxLines + 1 { // the output does not take them
		_, _ = eventWriter{l}.Write([]byte("{}\n"))
	}
	if fault := l.Fault(); l.Dropped() != 2 || fault != nil {
		t.Errorf("%d lost, at last because the output is too slow: %v", l.Dropped(), fault)
	}
}

// A line that was torn is never followed by another on the same line, even if ending it fails.
func TestNoLineBehindATornOne(t *testing.T) {
	disk := &sink{faults: []int{10, 0}} // in the first line, and at its end
	l := &Log{config: LogConfig{Writer: disk, Now: fixedNow, Level: slog.LevelInfo}}
	w := &lineWriter{log: l}
	for _, line := range []string{`{"first":"line"}`, `{"second":"line"}`, `{"third":"line"}`} {
		l.waiting.add([]byte(line + "\n"))
		w.drain(nil)
	}
	out := disk.String()
	for line := range strings.Lines(out[strings.IndexByte(out, '\n')+1:]) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("a broken line %q in\n%s", line, out)
		}
	}
	whole := strings.Count(out, "\n{\"second") + strings.Count(out, "\n{\"third")
	if dropped := l.Dropped(); int(dropped)+whole != 3 || toldIn(out) != dropped || !strings.HasPrefix(out, "{\"first\":\"\n") {
		t.Errorf("%d lines are whole, %d counted as lost, %d told:\n%s", whole, dropped, toldIn(out), out)
	}
}

// toldIn returns how many lost lines a log reports.
func toldIn(text string) (told uint64) {
	for _, match := range lossLine.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseUint(match[1], 10, 64)
		told += n
	}
	return told
}

// A write has whole lines, never a part of one: what it does not take would be torn.
func TestWritesAreOfWholeLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 800), rapid.SampledFrom([]int{batchBytes - 1, batchBytes, 3 * batchBytes})), 1,
			400).Draw(t, "lengths")
		var text []byte
		for _, n := range lengths {
			text = append(append(text, strings.Repeat("x", n)...), '\n')
		}
		out := new(sink)
		w := &lineWriter{log: &Log{config: LogConfig{Writer: out, Now: fixedNow}}}
		w.write(text)
		if got := strings.Join(out.parts, ""); got != string(text) {
			t.Fatalf("%d bytes were written of %d", len(got), len(text))
		}
		for _, part := range out.parts {
			if !strings.HasSuffix(part, "\n") || len(part) > batchBytes && strings.Count(part, "\n") > 1 {
				t.Fatalf("%d bytes were written at once, with %d line ends", len(part), strings.Count(part, "\n"))
			}
		}
	})
}

// The line that reports losses is where they occurred: after the lines that were waiting when there was no more room.
func TestLossesAreToldInTheirPlace(t *testing.T) {
	out := &sink{began: make(chan struct{}, 1), release: make(chan struct{})}
	l := NewLog(LogConfig{Writer: out, Now: fixedNow})
	write(l, Record{Time: noon, ID: "written"})
	<-out.began // from now on lines only wait
	for n := range 3 * maxLines {
		write(l, Record{Time: noon, ID: fmt.Sprint("early", n)})
	}
	lost := l.Dropped()
	close(out.release)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := toldIn(out.String())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; lost == 0 || told != lost || !lossLine.MatchString(last) {
		t.Errorf("%d lines were lost and %d are told; the last line is %s", lost, told, last)
	}
}

var lossLine = regexp.MustCompile(`"msg":"log lines dropped","lines":(\d+)}`)

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
	out := &sink{release: make(chan struct{})}
	l := NewLog(LogConfig{Writer: out, Now: time.Now})
	record := fullRecord()
	record.Model = strings.Repeat("m", maxValue)
	line := make([]byte, 0, 2<<10)
	if n := testing.AllocsPerRun(1000, func() { l.Write(&record, record.AppendLine(line)) }); n >= 1 {
		t.Errorf("%v allocations for a line", n)
	}
	close(out.release)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
