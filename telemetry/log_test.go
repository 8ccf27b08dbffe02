package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"sluice/policy/unit"
	"sluice/telemetry/meter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before believing it")

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123_456_789, time.FixedZone("", 8*3600))

func fixedNow() time.Time { return noon }

// logged returns the output of a Log while f uses it.
func logged(t *testing.T, config LogConfig, f func(*Log)) string {
	t.Helper()
	var out bytes.Buffer
	config.Writer, config.Now = &out, fixedNow
	l := NewLog(config)
	f(l)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// write has a Log write a Record.
func write(l *Log, r Record) { l.Write(&r, r.AppendLine(nil)) }

func fullRecord() Record {
	r := Record{
		Time: noon, ID: "0b1c", UpstreamID: "7a2f", TraceID: "4bf9", Team: "search", Key: "7f3k9q2m4x1c", Client: "2001:db8::1",
		Method: "GET", Route: "/api/v1/tasks/{id}", Endpoint: "text", Kind: "text", Model: "llm-max", Task: "0385", Status: 200,
		Refusal: "admit/quota", Cache: "hit",
		Cost:     Cost{Known: true, Amounts: unit.Amounts{unit.Requests: 1, unit.Tokens: 1292, unit.Spend: 1_033_600}, Flag: "exact"},
		Held:     Cost{Known: true, Amounts: unit.Amounts{unit.Requests: 1, unit.Tokens: 3000, unit.Images: 4, unit.Spend: 2_500_000_000}},
		Duration: 812_345_678, Overhead: 900 * time.Microsecond, FirstByte: 100 * time.Millisecond,
		BytesIn: 1024, BytesOut: 2048, UpstreamStatus: 200, UpstreamError: 500, UpstreamCode: "InternalError", Account: "eu",
		TaskStatus: "SUCCEEDED",
	}
	r.Usage = usageOf(`{"input_tokens":1250,"output_tokens":42,"cached_tokens":0,"plugins":{"search":{"seconds":0.5}}}`)
	return r
}

// refusedRecords are refusals by a quota of money, by a rate, and for rules beside a warning; and a warning alone.
func refusedRecords() []Record {
	quota := Limit{Name: "spend-day-key", Scope: "key", Of: "7f3k9q2m4x1c", Unit: "spend", Per: "day", Used: 49_500_000_000,
		Held: 250_000_000, Left: 250_000_000, Limit: 50_000_000_000, Asked: 800_000_000}
	return []Record{
		{Time: noon, Status: 429, Refusal: "admit/quota", Reason: "Key 7f3k9q2m4x1c has 0.25 left of its quota spend-day of 50.", Limit: quota},
		{Time: noon, Status: 429, Refusal: "admit/rate", Limit: Limit{Name: "requests", Scope: "team", Unit: "requests", Per: "1m", Limit: 600,
			Asked: 1}},
		{Time: noon, Status: 400, Refusal: "inspect/rules", Broken: []BrokenRule{{ID: "text.top_k"}, {ID: "text.top_p", Refused: true},
			{ID: "text.seed", Refused: true}}}, {Time: noon, Status: 200, Broken: []BrokenRule{{ID: "text.top_k"}}},
	}
}

// usageOf reads the usage member of an answer.
func usageOf(usage string) meter.Usage {
	m := meter.New("application/json", "")
	_, _ = m.Write([]byte(`{"usage":` + usage + `}`))
	return m.End().Usage
}

// members are those of a line in their order, as in design.md 5.
var lineMembers = strings.Fields(
	`time level msg id upstream_id trace_id team key client method route endpoint kind model task status refusal
	cache usage cost held dur_ms overhead_ms queue_ms first_byte_ms bytes_in bytes_out upstream_status`)

// fullTask is a task whose line has a value for each member.
func fullTask() Task {
	task := Task{
		Request: "0b1c", Creation: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Key: "7f3k9q2m4x1c", ID: "0385",
		Model: "gen2.6-image",
		Team:  "search", Account: "eu", Outcome: "succeeded", Submitted: noon.Add(-time.Minute), Started: noon.Add(-50 * time.Second),
		Ended:  noon.Add(-500 * time.Millisecond),
		Served: 3, Sent: 2, Cost: Cost{Known: true, Amounts: unit.Amounts{unit.Requests: 1, unit.Images: 2, unit.Spend: 400_000_000},
			Flag: "exact"},
		Held: Cost{Known: true, Amounts: unit.Amounts{unit.Requests: 1, unit.Images: 4, unit.Spend: 800_000_000}}, SettledBy: "poll",
	}
	task.Usage.Raise(meter.ImageCount, 2)
	return task
}

func TestLinesAsWritten(t *testing.T) {
	for name, config := range map[string]LogConfig{"lines.json": {}, "lines.text": {Text: true}} {
		t.Run(name, func(t *testing.T) {
			got := logged(t, config, func(l *Log) {
				write(l, fullRecord())
				write(l, Record{Time: noon})
				write(l, Record{Time: noon, Status: 503, Refusal: "admit/state", Cost: Cost{Known: true}})
				for _, r := range refusedRecords() {
					write(l, r)
				}
				task := fullTask()
				task.Log(l.Logger(), noon)
				task = Task{Submitted: noon, Ended: noon}
				task.Log(l.Logger(), noon)
			})
			path := "testdata/log/" + name
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// memberNames lists the members of one JSON object in their order, and its values by name.
func memberNames(t *rapid.T, line string) (names []string, values map[string]any) {
	if err := json.Unmarshal([]byte(line), &values); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	d := jsontext.NewDecoder(strings.NewReader(line))
	for {
		token, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return names, values
		case err != nil:
			t.Fatal(err)
		case d.StackDepth() != 1 || token.Kind() != '"':
			continue
		}
		names = append(names, token.String())
		if err := d.SkipValue(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOneLineWhateverTheClientSends(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		model := value.Draw(rt, "model") + strings.Repeat(value.Draw(rt, "more"), 100)
		record := Record{Model: model, Task: value.Draw(rt, "task"), Status: 200, UpstreamID: "\n{}\r\u2028"}
		line := logged(t, LogConfig{}, func(l *Log) { write(l, record) })
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") || strings.ContainsAny(line, "\r\u2028") {
			rt.Fatalf("not one line: %q", line)
		}
		names, values := memberNames(rt, line)
		if diff := cmp.Diff(lineMembers, names); diff != "" {
			rt.Fatal(diff)
		}
		if got := values["model"].(string); len(model) <= maxValue && got != strings.ToValidUTF8(model, "\ufffd") &&
			len([]rune(got)) != len([]rune(model)) || len([]rune(got)) > maxValue {
			rt.Fatalf("model %q became %q", model, got)
		}
	})
}

// All values that a client or upstream chooses are cut.
func TestLongValuesAreCut(t *testing.T) {
	line := logged(t, LogConfig{}, func(l *Log) {
		write(l, Record{
			Model: "m" + strings.Repeat("词", 100), Task: strings.Repeat("t", maxValue), TraceID: strings.Repeat("x", maxValue+1),
			UpstreamID: strings.Repeat("u", 2*maxValue),
		})
	})
	for _, want := range []string{
		`"model":"m` + strings.Repeat("词", 85) + `"`, // 256 bytes, none of them half a character
		`"task":"` + strings.Repeat("t", 256) + `"`,
		`"trace_id":"` + strings.Repeat("x", 256) + `"`,
		`"upstream_id":"` + strings.Repeat("u", 256) + `"`,
	} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
}

// Every text of a Record is valid and short in the output: each may be sent to a collector in one batch with those of other
// teams.
func TestEveryTextOfARecordIsTidy(t *testing.T) {
	var record Record
	texts := textsOf(reflect.ValueOf(&record).Elem())
	for _, text := range texts {
		text.SetString("\xff" + strings.Repeat("x", 300))
	}
	record.Usage = usageOf("{\"odd\xff\":1,\"odd\xff\":2}")
	record.clean()
	for i, text := range texts {
		if got := text.String(); got != "\ufffd"+strings.Repeat("x", maxValue-1) &&
			(text.Addr().Interface() != &record.Reason || got != "\ufffd"+strings.Repeat("x", 300)) {
			t.Errorf("text %d of %d is %q", i, len(texts), got)
		}
	}
	if len(texts) < 15 {
		t.Errorf("only %d texts were seen", len(texts))
	}
	for name, n := range record.Usage.All() {
		if name != "odd\ufffd" || n != 2 {
			t.Errorf("the usage has %q: %v", name, n)
		}
	}
}

// textsOf lists the strings of a struct that others may set, also those of nested structs.
func textsOf(of reflect.Value) (texts []reflect.Value) {
	for kind, field := range of.Fields() {
		switch {
		case kind.IsExported() && field.Kind() == reflect.String:
			texts = append(texts, field)
		case kind.IsExported() && field.Kind() == reflect.Struct && field.Type() != reflect.TypeFor[time.Time]():
			texts = append(texts, textsOf(field)...)
		}
	}
	return texts
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		record Record
		want   slog.Level
	}{
		{Record{Status: 200, UpstreamStatus: 200}, slog.LevelInfo},
		{Record{Status: 429, Refusal: "admit/rate"}, slog.LevelInfo},
		{Record{Status: 499}, slog.LevelInfo},
		{Record{Status: 500, UpstreamStatus: 500}, slog.LevelInfo},
		{Record{Status: 500}, slog.LevelWarn},
		{Record{Status: 502, UpstreamStatus: 401, Refusal: "forward/key"}, slog.LevelWarn},
		{Record{Status: 502, UpstreamStatus: 502, Refusal: "forward/answer"}, slog.LevelWarn},
		{Record{Status: 503, Refusal: "admit/state"}, slog.LevelWarn},
		{Record{Status: 504, Refusal: "forward/silent"}, slog.LevelWarn},
	} {
		if got := c.record.level(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.record, got, c.want)
		}
	}
}

func TestTheLevelMayChange(t *testing.T) {
	var level slog.LevelVar
	level.Set(slog.LevelWarn)
	out := logged(t, LogConfig{Level: &level}, func(l *Log) {
		write(l, Record{ID: "one", Status: 200})
		write(l, Record{ID: "two", Status: 503})
		l.Logger().Info("three")
		level.Set(slog.LevelDebug)
		write(l, Record{ID: "four", Status: 200})
		l.Logger().Debug("five")
	})
	if got := order(out, "one", "two", "three", "four", "five"); !slices.Equal(got, []string{"two", "four", "five"}) {
		t.Errorf("%v in %s", got, out)
	}
}

// order lists the given words that the text has, in the order of the text.
func order(text string, words ...string) []string {
	words = slices.DeleteFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	slices.SortFunc(words, func(a, b string) int { return strings.Index(text, a) - strings.Index(text, b) })
	return words
}

func TestEventsKeepTheirPlaceAmongRecords(t *testing.T) {
	out := logged(t, LogConfig{}, func(l *Log) {
		for i := range 100 {
			write(l, Record{ID: fmt.Sprintf("n%03d", 2*i)})
			l.Logger().With("component", "teams").Info("reloaded\nor not", "id", fmt.Sprintf("n%03d", 2*i+1))
		}
	})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 200 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		if !strings.Contains(line, fmt.Sprintf(`"id":"n%03d"`, i)) || !strings.Contains(line, `Z","level":"INFO"`) {
			t.Fatalf("line %d is %s", i, line)
		}
	}
}

// A Log without traffic writes its line after the linger, without being closed.
func TestALineDoesNotWaitForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := NewLog(LogConfig{Writer: &out, Now: time.Now})
		for range 3 {
			out.Reset()
			write(l, Record{})
			time.Sleep(linger) // fake time
			synctest.Wait()
			if strings.Count(out.String(), "\n") != 1 {
				t.Fatalf("written: %q", out.String())
			}
		}
		if err := l.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkLog measures a line's cost for the request: the lines are taken in between, so that none is dropped.
func BenchmarkLog(b *testing.B) {
	l := NewLog(LogConfig{Writer: io.Discard, Now: time.Now})
	defer func() { _ = l.Close(b.Context()) }()
	record := fullRecord()
	var room [1 << 10]byte
	var memory []byte
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		l.Write(&record, record.AppendLine(room[:0]))
		if n%(maxLines/2) == 0 {
			memory, _ = l.waiting.take(memory)
		}
	}
	if l.Dropped() > 0 {
		b.Errorf("%d lines dropped", l.Dropped())
	}
}
