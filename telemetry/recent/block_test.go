package recent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// lastLines against a model: it returns the last lines in order and whole, at most a block's more, also in memory that was used before.
func TestLastLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := lastLines{most: rapid.IntRange(1, 50).Draw(t, "most")}
		var want, before []Line
		var out []Line // from an earlier time, whose memory was used again
		for n := range rapid.IntRange(0, 400).Draw(t, "steps") {
			if rapid.IntRange(0, 60).Draw(t, "step") == 0 {
				got := drained(&l)
				if len(got) < min(len(want), l.most) || !slices.Equal(got, want[len(want)-len(got):]) {
					t.Fatalf("%d lines came out of %d, of which the last %d are to be kept", len(got), len(want), l.most)
				}
				if !slices.Equal(out, before) {
					t.Fatal("lines changed after they had come out")
				}
				out, before, want = got, slices.Clone(want[len(want)-len(got):]), nil
			}
			text := fmt.Sprint(n, strings.Repeat("x", rapid.SampledFrom([]int{0, 500, blockBytes / 3, blockBytes + 1}).Draw(t, "length")))
			at := time.UnixMicro(int64(n)).UTC()
			l.add(at, []byte(text+"\n"))
			want = append(want, Line{At: at, Text: text})
			if len(l.blocks) > 1 && l.number-len(l.blocks[0].lines)-len(l.blocks[len(l.blocks)-1].lines) >= l.most {
				t.Fatalf("%d lines are kept, and %d are enough", l.number, l.most)
			}
		}
	})
}

func drained(l *lastLines) (lines []Line) {
	blocks := l.empty()
	for _, b := range blocks {
		lines = b.appendTo(lines)
	}
	l.reuse(blocks)
	return lines
}
