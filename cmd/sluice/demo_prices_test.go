package main

import (
	"bytes"
	"encoding/csv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/gateway/simulator/billing"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// demoPrices is docs/demo/prices.yaml with teams behind it.
func demoPrices(t *testing.T, teamLines string) string {
	t.Helper()
	return readRoot(t, "docs/demo/prices.yaml") + "teams:\n" + teamLines
}

// TestTheDemosPricesAreTheSimulators: two programs that share no code charge the same for whatever is used.
func TestTheDemosPricesAreTheSimulators(t *testing.T) {
	file, err := teams.Parse([]byte(demoPrices(t, "  - id: search\n")))
	must(t, err)
	tokens := rapid.OneOf(rapid.IntRange(0, 50), rapid.IntRange(0, 1000),
		rapid.SampledFrom([]int{1999, 2000, 2001, 31_999, 32_000, 32_001, 127_999, 128_000, 128_001}))
	models := rapid.SampledFrom([]string{"llm-max", "llm-max-2026-01-23", "llm-plus", "llm-turbo", "llm-vl-max", "llm-image-2.0-pro",
		"gen2.6-image", "gen2.6-t2i", "gen2.5-t2i", "what"})
	first := time.Date(2025, 12, 25, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		w := billing.Work{
			At: first.Add(time.Duration(rapid.IntRange(0, 30*24).Draw(t, "hour")) * time.Hour), Model: models.Draw(t, "model"),
			Text: tokens.Draw(t, "text"), Pictures: tokens.Draw(t, "pictures"), Films: tokens.Draw(t, "films"), Sounds: tokens.Draw(t, "sounds"),
			Answer: tokens.Draw(t, "answer"), Thought: tokens.Draw(t, "thought"), Explicit: rapid.Bool().Draw(t, "explicit"),
			Images: rapid.IntRange(0, 5).Draw(t, "images"), Pixels: rapid.SampledFrom(
				[]int{512 * 512, 1024 * 1024, 1024*1024 + 1, 2048 * 2048, 4096 * 4096}).Draw(t, "pixels"),
		}
		w.Hits = rapid.IntRange(0, w.Input()).Draw(t, "hits")
		w.Created = rapid.IntRange(0, w.Input()-w.Hits).Draw(t, "created")
		n := func(n int) int64 { return int64(n) }
		ours, contradicts := price.Of(file.Prices.For(w.Model, limit.CalendarOf(w.At).Day), &price.Usage{
			Input: n(w.Input()), Output: n(w.Answer + w.Thought), Cached: n(w.Hits), Explicit: w.Explicit, CacheCreation: n(w.Created),
			ImageInput: n(w.Pictures), VideoInput: n(w.Films), AudioInput: n(w.Sounds), Thinking: n(w.Thought), Images: n(w.Images),
			Pixels: n(w.Pixels),
		})
		if theirs := costOf(t, w); contradicts || ours.Total() != theirs {
			t.Fatalf("we charge %d, the simulator %d for %+v", ours.Total(), theirs, w)
		}
	})
}

// costOf is what the simulator's bill charges for work.
func costOf(t *rapid.T, w billing.Work) (sum int64) {
	book := billing.Book{List: billing.Standard}
	book.Add(w)
	var text bytes.Buffer
	if err := book.Write(&text); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		cost, ok := unit.Nanos.Read(unit.NameSpend, line[len(line)-1])
		if !ok {
			t.Fatal(line)
		}
		sum += cost
	}
	return sum
}
