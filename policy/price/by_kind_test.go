package price_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/policy/price"
	"sluice/policy/unit"
)

// lines writes the lines of a sum: kind, size, quantity, rate, amount.
func lines(k price.ByKind) string {
	var list []string
	for l := range k.Lines() {
		list = append(list, strings.Join(strings.Fields(fmt.Sprintf("%s %s %d at %d: %d", l.Kind, l.Size, l.Quantity, l.Rate, l.Amount)), " "))
	}
	return strings.Join(list, ", ")
}

// A sum has the quantity, the exact amount, and the rate where one held, of each kind and size; and as few bytes as it can.
func TestBillsAddUpByKind(t *testing.T) {
	of := func(p price.Price, usages ...price.Usage) (s price.Sum) {
		for _, u := range usages {
			bill, _ := price.Of(&p, &u)
			s.AddBill(&bill)
		}
		return s
	}
	typical := price.Usage{Input: 5_000_000, Cached: 3_000_000, Output: 1_200_000, Thinking: 900_000}
	odd := price.Price{Rates: rates(map[price.Kind]int64{price.Input: 333_333})}
	idr := price.Price{Rates: rates(map[price.Kind]int64{price.Input: 40_000_000_000_000})}
	large := price.Usage{Input: 100_000_000}
	for _, tt := range []struct {
		name  string
		sum   price.Sum
		want  string
		bytes int
	}{
		{"nothing", of(tiered), "", 0},
		{"one bill", of(thinker, typical),
			"input 2000000 at 1000000000: 2000000000, cached 3000000 at 1000000000: 3000000000, output 300000 at 2000000000: 600000000, " +
				"thinking 900000 at 8000000000: 7200000000", 21},
		{"one rate", of(tiered, price.Usage{Input: 1000}, price.Usage{Input: 2000}), "input 3000 at 2500000000: 7500000", 4},
		{"two rates", of(tiered, price.Usage{Input: 1000}, price.Usage{Input: 32_001}), "input 33001 at -1: 130504000", 8},
		{"three rates", of(tiered, price.Usage{Input: 1000}, price.Usage{Input: 32_001}, price.Usage{Input: 1000}),
			"input 34001 at -1: 133004000", 8},
		{"each request is rounded up", of(odd, price.Usage{Input: 1}, price.Usage{Input: 1}, price.Usage{Input: 4}), "input 6 at 333333: 4", 8},
		{"what costs nothing", of(price.Price{}, price.Usage{Input: 7, Images: 2}), "input 7 at 0: 0, image 2 at 0: 0", 7},
		{"sizes", of(sized, price.Usage{Images: 1, Size: "4K"}, price.Usage{Images: 2, Pixels: 1 << 20}, price.Usage{Images: 1, Size: "4k"}),
			"image 1048576 2 at 140000000: 280000000, image 4K 2 at 500000000: 1000000000", 17},
		{"more than a limit counts", of(idr, large, large, large), "input 300000000 at 40000000000000: 12000000000000000", 7},
	} {
		kinds := tt.sum.ByKind()
		if got := lines(kinds); got != tt.want || len(kinds) != tt.bytes {
			t.Errorf("%s: %s in %d bytes\nwant %s in %d", tt.name, got, len(kinds), tt.want, tt.bytes)
		}
	}
}

// A line that contradicts itself, or a size that is too long or one of too many, is counted all the same.
func TestOddLinesAreCounted(t *testing.T) {
	var s price.Sum
	long := strings.Repeat("ü", 20)
	for _, l := range []price.Line{
		{Kind: price.Input, Quantity: 10, Rate: 1_000_000, Amount: 11},
		{Kind: price.Output, Quantity: 1, Rate: -5, Amount: 7},
		{Kind: price.Thinking, Quantity: unit.Most, Rate: unit.Most, Amount: unit.Most},
		{Kind: price.Image, Size: long, Quantity: 1, Rate: 5, Amount: 5},
	} {
		var b price.Bill
		b[l.Kind] = l
		s.AddBill(&b)
	}
	want := fmt.Sprintf("input 10 at -1: 11, output 1 at -1: 7, thinking %d at -1: %[1]d, image %s 1 at 5: 5", int64(unit.Most), long[:24])
	if got := lines(s.ByKind()); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var many price.Sum
	for n := range 40 {
		b := price.Bill{price.Image: {Kind: price.Image, Size: fmt.Sprint(1000 + n), Quantity: 1, Rate: 5, Amount: 5}}
		many.AddBill(&b)
	}
	list := strings.Split(lines(many.ByKind()), ", ")
	if len(list) != 31 || list[0] != "image 10 at 5: 50" {
		t.Errorf("%d sizes, the rest %s", len(list)-1, list[0])
	}
}

// No text that Redis may have stops a charge, and what is read is read the same again.
func FuzzReadByKind(f *testing.F) {
	for _, text := range []string{"", "\x00", "\x99\x02", "\xf0\x05\x07\x00\x05", "\x0b\x01\x01\x01", strings.Repeat("\xff", 80)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kinds := price.ReadByKind(text)
		for l := range kinds.Lines() {
			if l.Kind >= price.Unknown || l.Quantity < 0 || l.Amount < 0 || l.Quantity > unit.Most || l.Amount > unit.Most<<8 ||
				l.Rate < price.Mixed {
				t.Fatalf("%+v", l)
			}
		}
		if again := price.ReadByKind(string(kinds)); again != kinds {
			t.Fatalf("%q is read as %q", kinds, again)
		}
	})
}
