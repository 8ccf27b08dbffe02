package price_test

import (
	"strings"
	"testing"

	"sluice/policy"
	"sluice/policy/price"
)

// Sizes that the rules on editing models refuse never count; those of other models may.
func TestSizesBeyondTheRules(t *testing.T) {
	sizes := []price.Size{
		{Word: "1K"}, {Word: "640*640"}, {Word: "1024*1024"}, {Word: "768*768"}, {Word: "2048*2048"}, {Word: "2064*2048"}, {Word: "512*2048"},
		{Word: "500*2048"}, {Word: "huge"}, {UpToPixels: 589_823}, {UpToPixels: 589_824}, {UpToPixels: 9_000_000}, {UpToPixels: 9_000_001},
	}
	list := price.List{{Pattern: "gen2.6-image*", Images: sizes}, {Pattern: "gen2.6-image-2", Images: sizes[1:2]},
		{Pattern: "gen*", Images: sizes}, {Pattern: "llm-image*", Images: sizes}}
	edits, syncs := []policy.Pattern{"gen2.6-image*"}, []policy.Pattern{"llm-image*"}
	const want = "640*640 of gen2.6-image*, 2064*2048 of gen2.6-image*, 500*2048 of gen2.6-image*, 589823 of gen2.6-image*, 9000001 of " +
		"gen2.6-image*, 640*640 of gen2.6-image-2, 1K of llm-image*"
	var got []string
	for _, text := range list.BeyondRules(edits, syncs, nil) {
		about, _, _ := strings.Cut(strings.TrimPrefix(text, "prices: the size "), " never counts: no rule allows it")
		got = append(got, about)
	}
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	for _, modes := range []policy.Modes{{"image.edit.size.area": policy.ModeWarn}, {"image.size.aspect": policy.ModeOff}} {
		if got := list.BeyondRules(edits, nil, modes); got != nil {
			t.Errorf("%v: %q", modes, got)
		}
	}
	if got := list.BeyondRules(nil, syncs, policy.Modes{"image.sync.size": policy.ModeWarn}); got != nil {
		t.Errorf("without editing models: %q", got)
	}
}

// A size in pixels by its word never counts beside pixels that hold it, wherever these stand.
func TestSizesBehindPixels(t *testing.T) {
	list := price.List{
		{Pattern: "a", Images: []price.Size{{Word: "1024*1024"}, {UpToPixels: 1 << 20}, {Word: "1024*1025"}, {Word: "1K"}, {Word: "512*512"}}},
		{Pattern: "b", Images: []price.Size{{Word: "1024*1024"}, {UpToPixels: 1<<20 - 1}}},
	}
	got := strings.Join(list.Hidden(), "\n")
	const want = "prices: the size 1024*1024 of a never counts: its pictures cost by up_to_pixels, which come first, and 1048576 " +
		"holds them\n" +
		"prices: the size 512*512 of a never counts: its pictures cost by up_to_pixels, which come first, and 1048576 holds them"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
