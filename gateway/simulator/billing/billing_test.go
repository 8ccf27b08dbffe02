package billing

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 30, 0, 0, time.UTC)

// Bills worked out by hand from the price list.
func TestCharges(t *testing.T) {
	before := time.Date(2025, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, tt := range []struct {
		name string
		work Work
		want string
	}{
		{"nothing", Work{Model: "llm-max"}, ""},
		{"input and output", Work{Model: "llm-max", Text: 14, Answer: 3}, "input tokens 14×2500; output tokens 3×10000"},
		{"hits", Work{Model: "llm-max", Text: 1000, Hits: 600}, "cache hit input tokens 600×500; input tokens 400×2500"},
		{"hits of a cache that requests make", Work{Model: "llm-max", Text: 1000, Hits: 600, Explicit: true},
			"explicit cache hit input tokens 600×250; input tokens 400×2500"},
		{"a cache is made", Work{Model: "llm-max", Text: 1000, Created: 800}, "cache creation input tokens 800×3125; input tokens 200×2500"},
		{"hits of pictures", Work{Model: "llm-max", Text: 300, Pictures: 700, Hits: 400},
			"cache hit input tokens 400×500; image input tokens 600×4000"},
		{"at the border", Work{Model: "llm-max", Text: 32_000}, "input tokens 32000×2500"},
		{"above it", Work{Model: "llm-max", Text: 32_001, Answer: 1},
			"input tokens (input above 32000) 32001×4000; output tokens (input above 32000) 1×16000"},
		{"above the next", Work{Model: "llm-max", Text: 128_001, Hits: 128_001}, "cache hit input tokens (input above 128000) 128001×1400"},
		{"what a tier leaves out", Work{Model: "llm-max", Text: 32_001, Created: 32_001},
			"cache creation input tokens (input above 32000) 32001×3125"},
		{"a part without a price", Work{Model: "llm-vl-max", Text: 10, Hits: 4}, "cache hit input tokens 4×1000; input tokens 6×1000"},
		{"thinking", Work{Model: "llm-plus", Answer: 40, Thought: 60}, "output tokens 40×2000; thinking output tokens 60×8000"},
		{"thinking as output", Work{Model: "llm-max", Answer: 40, Thought: 60}, "output tokens 40×10000; thinking output tokens 60×10000"},
		{"films and sounds", Work{Model: "llm-vl-max", Films: 512, Sounds: 64}, "audio input tokens 64×3000; video input tokens 512×2000"},
		{"a small picture", Work{Model: "gen2.6-image", Images: 2, Pixels: 1024 * 1024}, "images up to 1048576 pixels 2×140000000"},
		{"a pixel more", Work{Model: "gen2.6-image", Images: 1, Pixels: 1024*1024 + 1}, "images up to 4194304 pixels 1×180000000"},
		{"beyond all sizes", Work{Model: "llm-image-2.0", Images: 1, Pixels: 2048 * 2048}, "images 1×250000000"},
		{"before its day", Work{At: before, Model: "llm-max", Text: 1, Hits: 1}, "cache hit input tokens 1×3000"},
		{"any other model", Work{Model: "what", Text: 1}, "input tokens 1×300"},
	} {
		if tt.work.At.IsZero() {
			tt.work.At = noon
		}
		tariff := Standard.find(tt.work.Model, tt.work.At)
		var lines []string
		for _, c := range tariff.charges(&tt.work) {
			lines = append(lines, fmt.Sprintf("%s %d×%d", c.item, c.quantity, c.each))
		}
		slices.Sort(lines)
		if got := strings.Join(lines, "; "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if tariff := (List{{Models: "a"}}).find("b", noon); tariff.Rates != nil {
		t.Error("a model without a tariff has one")
	}
}

func TestTheBill(t *testing.T) {
	b := &Book{List: Standard}
	for _, minute := range []time.Duration{0, 10, 40} { // the last is of the next hour
		b.Add(Work{At: noon.Add(minute * time.Minute), Model: "llm-max", Text: 1234, Answer: 1})
	}
	b.Add(Work{At: noon.Add(5 * time.Hour), Model: "gen2.6-image", Images: 3, Pixels: 1})
	b.Add(Work{At: noon.Add(5 * time.Hour), Account: "spare", Model: "gen2.6-image", Images: 1, Pixels: 1})
	const want = `Hour,Account,Model,Item,Usage,Unit,UnitPrice,Cost
2026-11-21 20:00,simulated-account,llm-max,input tokens,2.468,1k tokens,0.0025,0.00617
2026-11-21 20:00,simulated-account,llm-max,output tokens,0.002,1k tokens,0.01,0.00002
2026-11-21 21:00,simulated-account,llm-max,input tokens,1.234,1k tokens,0.0025,0.003085
2026-11-21 21:00,simulated-account,llm-max,output tokens,0.001,1k tokens,0.01,0.00001
2026-11-22 01:00,simulated-account,gen2.6-image,images up to 1048576 pixels,3,piece,0.14,0.42
2026-11-22 01:00,spare,gen2.6-image,images up to 1048576 pixels,1,piece,0.14,0.14
`
	var got bytes.Buffer
	if err := b.Write(&got); err != nil || got.String() != want {
		t.Errorf("%v\n%s", err, got.String())
	}
}

// Clients make up names of models, and the memory of a book is bounded.
func TestABookIsBounded(t *testing.T) {
	b := &Book{List: Standard}
	for n := range mostModels + 100 {
		b.Add(Work{At: noon, Model: fmt.Sprint("m", n), Text: 1})
	}
	if len(b.lines) != mostModels+1 || b.lines[line{noon.Truncate(time.Hour), Account, "other models", Input, "1k tokens", 300}] != 100 {
		t.Errorf("%d lines", len(b.lines))
	}
}
