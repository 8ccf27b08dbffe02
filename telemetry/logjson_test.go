package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/unit"
	"sluice/telemetry/meter"
)

// The JSON line equals slog's exactly, whatever the Record has. Only escapes in a text may be spelled in another valid way,
// so texts are drawn from characters with a single one.
func TestLineIsSlogs(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune(`abcXYZ 0129-_/"\.:;äß水🌊`+"\n\t")), 0, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		r := Record{
			Time: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")),
			ID:   text.Draw(t, "id"), Model: text.Draw(t, "model"), Task: text.Draw(t, "task"), Team: text.Draw(t, "team"),
			Client: text.Draw(t, "client"), Method: text.Draw(t, "method"), Route: text.Draw(t, "route"), TaskStatus: text.Draw(t, "ended"),
			Front: text.Draw(t, "front"), Account: text.Draw(t, "account"),
			Reason: text.Draw(t, "reason"), Broken: rapid.SliceOf(rapid.Custom(func(t *rapid.T) BrokenRule {
				return BrokenRule{text.Draw(t, "rule"), rapid.Bool().Draw(t, "refused")}
			})).Draw(t, "broken"),
			Limit: Limit{Name: text.Draw(t, "limit"), Of: text.Draw(t, "of"), Unit: rapid.SampledFrom([]string{"spend", "tokens"}).Draw(t, "unit"),
				Used: rapid.Int64Range(0, 1e15).Draw(t, "used of it"), Limit: 7},
			Status: rapid.IntRange(0, 599).Draw(t, "status"), Refusal: text.Draw(t, "refusal"),
			Duration: time.Duration(rapid.Int64Range(-1e9, 1e15).Draw(t, "dur")), BytesIn: rapid.Int64Min(0).Draw(t, "in"),
		}
		if rapid.Bool().Draw(t, "used") {
			usage := map[string]any{"input_tokens": rapid.Int64Range(0, 1<<50).Draw(t, "input"),
				text.Draw(t, "name"): rapid.Float64Range(0, 1<<53-1).Draw(t, "other")}
			body, err := json.Marshal(usage)
			if err != nil {
				t.Fatal(err)
			}
			r.Usage = usageOf(string(body))
			r.Cost = Cost{Known: true, Amounts: unit.Amounts{unit.Tokens: rapid.Int64Min(0).Draw(t, "tokens"),
				unit.Spend: rapid.Int64Range(0, 1e15).Draw(t, "spend")}, Flag: text.Draw(t, "flag")}
		}
		var want bytes.Buffer
		if err := slog.NewJSONHandler(&want, nil).Handle(context.Background(), r.line()); err != nil {
			t.Fatal(err)
		}
		if got := appendLine(nil, &r); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("got  %swant %s", got, want.Bytes())
		}
	})
}

// Numbers of any size are written as slog writes them.
func TestFloatsAreSlogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(0, 1e30), rapid.Float64Range(0, 1e-5)).Draw(t, "value")
		var want bytes.Buffer
		if err := slog.NewJSONHandler(&want, &slog.HandlerOptions{ReplaceAttr: onlyFloats}).
			Handle(context.Background(), floatRecord(value)); err != nil {
			t.Fatal(err)
		}
		if got := append(appendFloat([]byte(`{"n":`), value), "}\n"...); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("got %s, want %s", got, want.Bytes())
		}
	})
}

func floatRecord(value float64) slog.Record {
	var r slog.Record
	r.AddAttrs(slog.Float64("n", value))
	return r
}

// onlyFloats removes the members that every line has.
func onlyFloats(_ []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() != slog.KindFloat64 {
		return slog.Attr{}
	}
	return attr
}

// A text is plain if each of its bytes is, wherever in it the byte is.
func TestPlainTexts(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for b := range 256 {
				text := []byte(strings.Repeat("a", length))
				text[at] = byte(b)
				if got, want := isPlain(string(text)), isShortPlain(string(text)); got != want {
					t.Fatalf("%q is plain: %v, want %v", text, got, want)
				}
			}
		}
	}
}

func TestLineOfWhatIsNoUTF8(t *testing.T) {
	got := appendLine(nil, &Record{Model: "a\xff\u2028b\x00"})
	if !bytes.Contains(got, []byte("\"model\":\"a\\ufffd\\u2028b\\u0000\"")) || bytes.Count(got, []byte("\n")) != 1 {
		t.Errorf("line %q", got)
	}
}

func BenchmarkLine(b *testing.B) {
	r := Record{Time: time.Unix(1.8e9, 123456789), ID: "7f3c5a52-93e5-4d42-8a65-0d2a91b4a7f0", Team: "search", Endpoint: "text", Kind: "text",
		Model: "llm-max", Status: 200, Duration: 1234567, Overhead: 98765, FirstByte: 1200000}
	r.Usage.Raise(meter.InputTokens, 20)
	b.ReportAllocs()
	var line []byte
	for b.Loop() {
		line = r.AppendLine(line[:0])
	}
}
