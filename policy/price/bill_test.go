package price_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/policy/price"
	"sluice/policy/unit"
)

// milli is a thousandth of the currency: 2.5 a million tokens is 2500*milli.
const milli = 1_000_000

// The price list of the table. It is the one of docs/money.md.
var (
	tiered = price.Price{
		Pattern: "llm-max*",
		Rates: rates(map[price.Kind]int64{
			price.Input: 2500 * milli, price.Output: 10_000 * milli, price.Cached: 500 * milli, price.ExplicitCached: 250 * milli,
			price.CacheCreation: 3125 * milli, price.ImageInput: 4000 * milli,
		}),
		Above: []price.Border{
			{Input: 32_000, Rates: rates(map[price.Kind]int64{price.Input: 4000 * milli, price.Output: 16_000 * milli, price.Cached: 800 * milli})},
			{Input: 128_000, Rates: rates(map[price.Kind]int64{price.Input: 7000 * milli, price.Output: 28_000 * milli})},
		},
	}
	thinker = price.Price{Rates: rates(map[price.Kind]int64{price.Input: 1000 * milli, price.Output: 2000 * milli,
		price.Thinking: 8000 * milli})}
	plain = price.Price{Rates: rates(map[price.Kind]int64{price.Input: 1000 * milli, price.Output: 2000 * milli, price.Image: 200 * milli})}
	sized = price.Price{
		Rates: rates(map[price.Kind]int64{price.Image: 200 * milli}),
		Images: []price.Size{{UpToPixels: 4_194_304, Image: 180 * milli}, {UpToPixels: 1_048_576, Image: 140 * milli},
			{Word: "4K", Image: 500 * milli}},
	}
	worded = price.Price{
		Rates:  rates(map[price.Kind]int64{price.Image: 200 * milli}),
		Images: []price.Size{{Word: "1024*1024", Image: 300 * milli}, {Word: "2K", Image: 500 * milli}},
	}
	unsized = price.Price{Images: []price.Size{{UpToPixels: 1_048_576, Image: 140 * milli}, {UpToPixels: 4_194_304, Image: 180 * milli}}}
)

func rates(given map[price.Kind]int64) (r price.Rates) {
	for k, amount := range given {
		r.Set(k, amount)
	}
	return r
}

// Each bill is worked out by hand: quantity × rate ÷ 1,000,000, rounded up, in 10⁻⁹ of the currency.
func TestBills(t *testing.T) {
	type usage = price.Usage
	for _, tt := range []struct {
		name  string
		price price.Price
		usage usage
		want  string
	}{
		{"nothing", tiered, usage{}, "= 0"},
		{"input alone", tiered, usage{Input: 1000}, "input 1000: 2500000 = 2500000"},
		{"output alone", tiered, usage{Output: 1000}, "output 1000: 10000000 = 10000000"},
		{"input and output", tiered, usage{Input: 14, Output: 3}, "input 14: 35000, output 3: 30000 = 65000"},
		{"a total in place of the output", tiered, usage{Input: 14, Total: 17}, "input 14: 35000, output 3: 30000 = 65000"},
		{"a total beyond both is output", tiered, usage{Input: 14, Output: 3, Total: 20}, "input 14: 35000, output 6: 60000 = 95000"},
		{"a total below both counts for nothing", tiered, usage{Input: 14, Output: 3, Total: 2}, "input 14: 35000, output 3: 30000 = 65000"},
		{"a part of a unit is rounded up", price.Price{Rates: rates(map[price.Kind]int64{price.Input: 1})}, usage{Input: 1}, "input 1: 1 = 1"},
		{"each line is rounded up by itself", price.Price{Rates: rates(map[price.Kind]int64{price.Input: 1, price.Output: 1})},
			usage{Input: 1, Output: 1},
			"input 1: 1, output 1: 1 = 2"},
		{"a kind is not rounded up twice", price.Price{Rates: rates(map[price.Kind]int64{price.Input: 1})}, usage{Input: 1_000_001},
			"input 1000001: 2 = 2"},

		{"hits of the service's cache", tiered, usage{Input: 1000, Cached: 600}, "input 400: 1000000, cached 600: 300000 = 1300000"},
		{"hits of a cache that requests make", tiered, usage{Input: 1000, Cached: 600, Explicit: true},
			"input 400: 1000000, explicit_cached 600: 150000 = 1150000"},
		{"a cache is made", tiered, usage{Input: 1000, CacheCreation: 800}, "input 200: 500000, cache_creation 800: 2500000 = 3000000"},
		{"a cache is hit and made", tiered, usage{Input: 1000, Cached: 300, CacheCreation: 200, Explicit: true},
			"input 500: 1250000, explicit_cached 300: 75000, cache_creation 200: 625000 = 1950000"},
		{"all of the input is a hit", tiered, usage{Input: 1000, Cached: 1000}, "cached 1000: 500000 = 500000"},
		{"hits without a price cost as input", plain, usage{Input: 1000, Cached: 600}, "input 400: 400000, cached 600: 600000 = 1000000"},
		{"explicit hits without a price cost as hits", price.Price{
			Rates: rates(map[price.Kind]int64{price.Input: 1000 * milli, price.Cached: 100 * milli})},
			usage{Input: 1000, Cached: 600, Explicit: true}, "input 400: 400000, explicit_cached 600: 60000 = 460000"},
		{"creation without a price costs as input", plain, usage{Input: 1000, CacheCreation: 600},
			"input 400: 400000, cache_creation 600: 600000 = 1000000"},
		{"hits that are free", price.Price{Rates: rates(map[price.Kind]int64{price.Input: 1000 * milli, price.Cached: 0})},
			usage{Input: 1000, Cached: 600}, "input 400: 400000, cached 600: 0 = 400000"},

		{"at the lower border", tiered, usage{Input: 32_000}, "input 32000: 80000000 = 80000000"},
		{"above the lower border", tiered, usage{Input: 32_001}, "input 32001: 128004000 = 128004000"},
		{"the border changes the output's price, too", tiered, usage{Input: 32_001, Output: 10},
			"input 32001: 128004000, output 10: 160000 = 128164000"},
		{"at the upper border", tiered, usage{Input: 128_000}, "input 128000: 512000000 = 512000000"},
		{"above the upper border", tiered, usage{Input: 128_001}, "input 128001: 896007000 = 896007000"},
		{"hits count towards the border", tiered, usage{Input: 32_001, Cached: 32_000}, "input 1: 4000, cached 32000: 25600000 = 25604000"},
		{"an upper border keeps no price of a lower one", tiered, usage{Input: 128_001, Cached: 128_000},
			"input 1: 7000, cached 128000: 64000000 = 64007000"},
		{"thinking follows the output of its border", tiered, usage{Input: 128_001, Output: 10, Thinking: 4},
			"input 128001: 896007000, output 6: 168000, thinking 4: 112000 = 896287000"},

		{"pictures in the input", tiered, usage{Input: 1000, ImageInput: 700}, "input 300: 750000, image_input 700: 2800000 = 3550000"},
		{"films and sound cost as input", tiered, usage{Input: 1000, VideoInput: 300, AudioInput: 200},
			"input 500: 1250000, video_input 300: 750000, audio_input 200: 500000 = 2500000"},
		{"hits are taken from text first", tiered, usage{Input: 1000, ImageInput: 700, Cached: 200},
			"input 100: 250000, cached 200: 100000, image_input 700: 2800000 = 3150000"},
		{"hits beyond the text are of pictures", tiered, usage{Input: 1000, ImageInput: 700, Cached: 400},
			"cached 400: 200000, image_input 600: 2400000 = 2600000"},

		{"thinking costs as answering", tiered, usage{Input: 10, Output: 100, Thinking: 60},
			"input 10: 25000, output 40: 400000, thinking 60: 600000 = 1025000"},
		{"thinking has its own price", thinker, usage{Output: 100, Thinking: 60}, "output 40: 80000, thinking 60: 480000 = 560000"},

		{"pictures of one price", plain, usage{Images: 3}, "image 3: 600000000 = 600000000"},
		{"a picture that the smallest size holds", sized, usage{Images: 2, Pixels: 1024 * 1024}, "image 2: 280000000 = 280000000"},
		{"one pixel more", sized, usage{Images: 2, Pixels: 1024*1024 + 1}, "image 2: 360000000 = 360000000"},
		{"beyond all sizes the image's price", sized, usage{Images: 1, Pixels: 4_194_305}, "image 1: 200000000 = 200000000"},
		{"beyond all sizes without one the dearest", unsized, usage{Images: 1, Pixels: 4_194_305}, "image 1: 180000000 = 180000000"},
		{"a size by its word", sized, usage{Images: 1, Size: "4k"}, "image 1: 500000000 = 500000000"},
		{"a size by the request's word", sized, usage{Images: 1, Asked: "4K"}, "image 1: 500000000 = 500000000"},
		{"the request's word, where the answer says pixels", sized, usage{Images: 1, Pixels: 4_194_305, Size: "4096*1025", Asked: "4K"},
			"image 1: 500000000 = 500000000"},
		{"pixels that a size holds, and the request's word", sized, usage{Images: 1, Pixels: 1024 * 1024, Size: "1024*1024", Asked: "4K"},
			"image 1: 140000000 = 140000000"},
		{"the answer's word, and another in the request", sized, usage{Images: 1, Size: "4K", Asked: "8K"}, "image 1: 500000000 = 500000000"},
		{"the answer's word that has no price, and the request's that has one",
			price.Price{Rates: rates(map[price.Kind]int64{price.Image: 200 * milli}),
				Images: []price.Size{{Word: "1K", Image: 100 * milli}}}, usage{Images: 1, Size: "2K", Asked: "1K"}, "image 1: 200000000 = 200000000"},
		{"the request's word that has no price, beside a dearer one", price.Price{Rates: rates(map[price.Kind]int64{price.Image: 200 * milli}),
			Images: []price.Size{{Word: "2K", Image: 500 * milli}}}, usage{Images: 1, Asked: "1K"}, "image 1: 200000000 = 200000000"},
		{"the answer's word that has no price, beside a dearer one", price.Price{Rates: rates(map[price.Kind]int64{price.Image: 200 * milli}),
			Images: []price.Size{{Word: "2K", Image: 500 * milli}}}, usage{Images: 1, Size: "1K"}, "image 1: 200000000 = 200000000"},
		{"a size in pixels by its word", worded, usage{Images: 1, Pixels: 1024 * 1024, Size: "1024*1024"}, "image 1: 300000000 = 300000000"},
		{"the request's pixels by their word", worded, usage{Images: 1, Pixels: 1024 * 1024, Asked: "1024*1024"},
			"image 1: 300000000 = 300000000"},
		{"the answer's pixels, and others in the request", worded, usage{Images: 1, Pixels: 1024 * 1280, Size: "1024*1280", Asked: "1024*1024"},
			"image 1: 200000000 = 200000000"},
		{"the answer's pixels by their word, and the request's word", worded,
			usage{Images: 1, Pixels: 1024 * 1024, Size: "1024*1024", Asked: "2K"}, "image 1: 300000000 = 300000000"},
		{"as many pixels in another shape", worded, usage{Images: 1, Pixels: 1024 * 1024, Size: "2048*512"}, "image 1: 200000000 = 200000000"},
		{"a size that nobody says", sized, usage{Images: 1}, "image 1: 500000000 = 500000000"},
		{"the dearest may be the image's price", price.Price{Rates: rates(map[price.Kind]int64{price.Image: 200 * milli}),
			Images: []price.Size{{UpToPixels: 1_048_576, Image: 140 * milli}}}, usage{Images: 1}, "image 1: 200000000 = 200000000"},

		{"more hits than input", tiered, usage{Input: 100, Cached: 150}, "cached 100: 50000 = 50000 contradicts"},
		{"hits and creation beyond the input", tiered, usage{Input: 100, Cached: 80, CacheCreation: 80},
			"cached 80: 40000, cache_creation 20: 62500 = 102500 contradicts"},
		{"more thinking than output", tiered, usage{Output: 100, Thinking: 101}, "thinking 100: 1000000 = 1000000 contradicts"},
		{"more of the pictures than input", tiered, usage{Input: 100, ImageInput: 90, VideoInput: 20},
			"image_input 90: 360000, video_input 10: 25000 = 385000 contradicts"},
		{"no price at all", price.Price{}, usage{Input: 100, Output: 10, Images: 1}, "input 100: 0, output 10: 0, image 1: 0 = 0"},
		{"numbers that cannot be", tiered, usage{Input: -5, Output: 1 << 62},
			fmt.Sprintf("output %d: %d = %[2]d", int64(unit.Most), int64(unit.Most))},
	} {
		bill, contradicts := price.Of(&tt.price, &tt.usage)
		if got := written(&bill, contradicts); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func written(b *price.Bill, contradicts bool) string {
	var lines []string
	for l := range b.Lines() {
		lines = append(lines, fmt.Sprintf("%s %d: %d", l.Kind, l.Quantity, l.Amount))
	}
	text := strings.TrimSpace(fmt.Sprintf("%s = %d", strings.Join(lines, ", "), b.Total()))
	if contradicts {
		text += " contradicts"
	}
	return text
}

// Whatever a usage says, the lines of its bill have all of its tokens and pictures, each once, at a price that the list has.
func TestABillHasEverythingOnce(t *testing.T) {
	amount := rapid.OneOf(rapid.Int64Range(0, 300_000), rapid.Int64Range(-3, unit.Most))
	rapid.Check(t, func(t *rapid.T) {
		u := price.Usage{
			Input: amount.Draw(t, "input"), Output: amount.Draw(t, "output"), Total: amount.Draw(t, "total"),
			Cached: amount.Draw(t, "cached"), Explicit: rapid.Bool().Draw(t, "explicit"), CacheCreation: amount.Draw(t, "creation"),
			ImageInput: amount.Draw(t, "pictures"), VideoInput: amount.Draw(t, "films"), AudioInput: amount.Draw(t, "sound"),
			Thinking: amount.Draw(t, "thinking"), Images: amount.Draw(t, "images"),
		}
		p := anyPrice.Draw(t, "price")
		bill, _ := price.Of(&p, &u)
		in, out := int64(0), int64(0)
		for l := range bill.Lines() {
			if l.Quantity < 0 || l.Amount < 0 || l.Amount > unit.Most {
				t.Fatalf("%+v", *l)
			}
			switch l.Kind {
			case price.Output, price.Thinking:
				out += l.Quantity
			case price.Image:
			default:
				in += l.Quantity
			}
		}
		if whole := u.Input; whole >= 0 && in != whole {
			t.Fatalf("%d of %d input tokens are on the bill", in, whole)
		}
		if in+out != u.Tokens() {
			t.Fatalf("%d of %d tokens are on the bill", in+out, u.Tokens())
		}
	})
}

// The first price of the file counts whose models match and whose day has come.
func TestThePriceOfADay(t *testing.T) {
	list := price.List{
		{Pattern: "llm-max*", From: 20261201, Images: []price.Size{{Image: 3}}},
		{Pattern: "llm-max*", From: 20261101, Images: []price.Size{{Image: 2}}},
		{Pattern: "llm-*", Images: []price.Size{{Image: 1}}},
	}
	for _, tt := range []struct {
		model string
		day   int
		want  int64
	}{
		{"llm-max", 20261031, 1}, {"llm-max", 20261101, 2}, {"llm-max", 20261130, 2}, {"llm-max", 20261201, 3}, {"llm-plus", 20261201, 1},
	} {
		p := list.For(tt.model, tt.day)
		if p == nil || p.Images[0].Image != tt.want {
			t.Errorf("%s on %d: %+v", tt.model, tt.day, p)
		}
	}
	if list.For("gen2.6-image", 20261201) != nil {
		t.Error("a model that no price matches has one")
	}
	if list[:2].For("llm-max", 20261031) != nil {
		t.Error("a price counts before its day")
	}
}

// A price as a task's claim keeps it costs the same, also if a newer version has written kinds and members that this one lacks.
func TestAPriceIsKeptWhole(t *testing.T) {
	for _, p := range []price.Price{tiered, thinker, plain, sized, unsized, {}} {
		text, err := json.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(text), strings.Replace(string(text), `"input":`, `"dreaming":7,"input":`, 1),
			strings.Replace(string(text), "{", `{"later":[1],`, 1)} {
			var again price.Price
			if err := json.Unmarshal([]byte(text), &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p, again, cmp.AllowUnexported(price.Rates{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		}
	}
}
