package price_test

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/price"
)

// anyRate is a price with up to five digits, some of which are rounded up for each request.
var anyRate = rapid.Custom(func(t *rapid.T) int64 {
	n := rapid.Int64Range(0, 99_999).Draw(t, "digits")
	for range rapid.IntRange(0, 6).Draw(t, "zeros") {
		n *= 10
	}
	return n
})

var anyRates = rapid.Custom(func(t *rapid.T) (r price.Rates) {
	for k := range price.Image {
		if rapid.Bool().Draw(t, "given") {
			r.Set(k, anyRate.Draw(t, k.String()))
		}
	}
	return r
})

// Sizes that prices, answers and requests name.
var (
	someWords  = []string{"1K", "2k", "1024*1024", "1024*1280", "2048*2048"}
	somePixels = map[string]int64{"1024*1024": 1 << 20, "1024*1280": 1024 * 1280, "2048*2048": 1 << 22}
)

// anyPrice has any of the members that a price may have, borders in any order, and sizes of both forms.
var anyPrice = rapid.Custom(func(t *rapid.T) (p price.Price) {
	p.Pattern, p.Rates = "*", anyRates.Draw(t, "rates")
	for range rapid.IntRange(0, 3).Draw(t, "borders") {
		p.Above = append(p.Above, price.Border{Input: rapid.Int64Range(1, 5).Draw(t, "border") * 1000, Rates: anyRates.Draw(t, "above")})
	}
	if rapid.Bool().Draw(t, "image") {
		p.Rates.Set(price.Image, anyRate.Draw(t, "rate of one"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "sizes") {
		s := price.Size{Image: anyRate.Draw(t, "rate of the size")}
		if rapid.Bool().Draw(t, "by word") {
			s.Word = rapid.SampledFrom(someWords).Draw(t, "word")
		} else {
			s.UpToPixels = rapid.SampledFrom([]int64{1 << 20, 1 << 21, 1 << 22}).Draw(t, "pixels")
		}
		p.Images = append(p.Images, s)
	}
	return p
})

// anyList has a price from each of some days on, the newest first.
var anyList = rapid.Custom(func(t *rapid.T) (list price.List) {
	for day := rapid.IntRange(1, 3).Draw(t, "days"); day > 0; day-- {
		p := anyPrice.Draw(t, "price")
		p.From = 20261100 + day
		list = append(list, p)
	}
	return list
})

// anyUsage has whatever an answer may say, also what contradicts itself.
var anyUsage = rapid.Custom(func(t *rapid.T) (u price.Usage) {
	tokens := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-2, 5002), rapid.Int64Range(0, 1<<31))
	for _, n := range []*int64{&u.Input, &u.Output, &u.Total, &u.Cached, &u.CacheCreation, &u.ImageInput, &u.VideoInput, &u.AudioInput,
		&u.Thinking} {
		*n = tokens.Draw(t, "tokens")
	}
	if rapid.Bool().Draw(t, "consistent") {
		u.Cached, u.CacheCreation, u.Thinking = min(u.Cached, u.Input/3), min(u.CacheCreation, u.Input/3), min(u.Thinking, u.Output)
		u.ImageInput, u.VideoInput, u.AudioInput = min(u.ImageInput, u.Input/2), min(u.VideoInput, u.Input/4), min(u.AudioInput, u.Input/4)
	}
	u.Explicit = rapid.Bool().Draw(t, "explicit")
	u.Images = rapid.Int64Range(0, 4).Draw(t, "images")
	said := rapid.SampledFrom(append([]string{""}, someWords...))
	u.Size, u.Asked = said.Draw(t, "size"), said.Draw(t, "asked")
	if u.Pixels = somePixels[u.Size]; u.Size == "" {
		u.Pixels = somePixels[u.Asked]
	}
	return u
})

// onPaper works out a bill as a person would: the parts of each whole, and what one of each costs.
func onPaper(p *price.Price, u *price.Usage) (quantities, rates [price.Kinds]int64, contradicts bool) {
	cut := func(n, whole int64) int64 {
		n = max(n, 0)
		contradicts = contradicts || n > whole
		return min(n, whole)
	}
	in, out := max(u.Input, 0), max(u.Output, 0)
	out = max(in+out, u.Total) - in
	pictures := cut(u.ImageInput, in)
	films := cut(u.VideoInput, in-pictures)
	sound := cut(u.AudioInput, in-pictures-films)
	hits := cut(u.Cached, in)
	made := cut(u.CacheCreation, in-hits)
	thought := cut(u.Thinking, out)
	q, cache := &quantities, hits+made
	for _, of := range []struct {
		kind price.Kind
		n    int64
	}{{price.Input, in - pictures - films - sound}, {price.ImageInput, pictures}, {price.VideoInput, films}, {price.AudioInput, sound}} {
		q[of.kind] = max(of.n-cache, 0)
		cache -= of.n - q[of.kind]
	}
	if q[price.Cached] = hits; u.Explicit {
		q[price.Cached], q[price.ExplicitCached] = 0, hits
	}
	q[price.CacheCreation], q[price.Output], q[price.Thinking], q[price.Image] = made, out-thought, thought, u.Images

	var border *price.Border
	for i := range p.Above {
		if b := &p.Above[i]; in > b.Input && (border == nil || b.Input > border.Input) {
			border = b
		}
	}
	for k := range price.Image {
		rates[k] = rateOnPaper(p, border, k)
	}
	rates[price.Image] = pictureOnPaper(p, u)
	return quantities, rates, contradicts
}

func rateOnPaper(p *price.Price, border *price.Border, k price.Kind) int64 {
	if border != nil {
		if rate, ok := border.Rates.Given(k); ok {
			return rate
		}
	}
	if rate, ok := p.Rates.Given(k); ok {
		return rate
	}
	parents := map[price.Kind]price.Kind{price.ExplicitCached: price.Cached, price.Thinking: price.Output}
	parent := parents[k] // else input
	if k == price.Input || k == price.Output {
		return 0
	}
	return rateOnPaper(p, border, parent)
}

// pictureOnPaper is the rate of a picture: by pixels, by the answer's word, by the request's, or the dearest.
func pictureOnPaper(p *price.Price, u *price.Usage) int64 {
	one, ok := p.Rates.Given(price.Image)
	best, rate := int64(0), int64(0)
	dearest := one
	words := map[string]int64{}
	fold := map[string]string{"2k": "2K"}
	name := func(word string) string {
		if same, ok := fold[word]; ok {
			return same
		}
		return word
	}
	for _, s := range p.Images {
		dearest = max(dearest, s.Image)
		if _, twice := words[name(s.Word)]; s.Word != "" && !twice {
			words[name(s.Word)] = s.Image
		}
		if s.UpToPixels >= u.Pixels && (best == 0 || s.UpToPixels < best) && s.UpToPixels > 0 {
			best, rate = s.UpToPixels, s.Image
		}
	}
	says := u.Size != ""
	asked := !says || u.Pixels > 0 && somePixels[u.Asked] == 0
	if u.Pixels > 0 && best > 0 {
		return rate
	}
	if rate, ok := words[name(u.Size)]; ok && says {
		return rate
	}
	if rate, ok := words[name(u.Asked)]; ok && asked && u.Asked != "" {
		return rate
	}
	if len(p.Images) == 0 || ok && (u.Pixels > 0 || says || asked && u.Asked != "") {
		return one
	}
	return dearest
}

// Whatever the prices of a day and the usage of a request are, its bill is the one on paper, rounded up once a line, and the charge is the
// sum of the lines. Whatever is added up, in whichever order, the ledger has the quantities and the amounts of all bills by kind and size,
// and its quantity × rate, rounded up for each request, is its amount.
func TestRandomBillsAreThoseOnPaperAndAddUp(t *testing.T) {
	type sum struct{ quantity, amount, requests int64 }
	rapid.Check(t, func(t *rapid.T) {
		list, want, charged := anyList.Draw(t, "prices"), map[string]sum{}, int64(0)
		parts := make([]price.Sum, 3)
		for n := range rapid.IntRange(1, 12).Draw(t, "requests") {
			u := anyUsage.Draw(t, "usage")
			p := list.For("m", 20261101+rapid.IntRange(0, 3).Draw(t, "day"))
			bill, contradicts := price.Of(p, &u)
			quantities, rates, odd := onPaper(p, &u)
			total := int64(0)
			for k := range bill {
				l, per := &bill[k], int64(1_000_000)
				if price.Kind(k) == price.Image {
					per = 1
				}
				amount := new(big.Int).Mul(big.NewInt(quantities[k]), big.NewInt(rates[k]))
				amount.Add(amount, big.NewInt(per-1)).Quo(amount, big.NewInt(per))
				if total += l.Amount; l.Quantity != quantities[k] || l.Quantity > 0 && l.Rate != rates[k] || l.Amount != amount.Int64() {
					t.Fatalf("%+v, want %d at %d for %v", *l, quantities[k], rates[k], amount)
				}
			}
			if total != bill.Total() || contradicts != odd {
				t.Fatalf("the lines sum up to %d, the charge is %d; contradicts %t, want %t", total, bill.Total(), contradicts, odd)
			}
			charged += total
			parts[n%3].AddBill(&bill)
			for l := range bill.Lines() {
				of := want[l.Kind.String()+l.Size]
				want[l.Kind.String()+l.Size] = sum{of.quantity + l.Quantity, of.amount + l.Amount, of.requests + 1}
			}
		}
		forward, backward := price.Sum{}, price.Sum{}
		for n := range parts {
			forward.Add(parts[n].ByKind())
			backward.Add(parts[2-n].ByKind())
		}
		kinds := forward.ByKind()
		if kinds != backward.ByKind() || kinds != price.ReadByKind(string(kinds)) {
			t.Fatalf("%q depends on the order, or is read as %q", kinds, price.ReadByKind(string(kinds)))
		}
		for l := range kinds.Lines() {
			of := want[l.Kind.String()+l.Size]
			if l.Quantity != of.quantity || l.Amount != of.amount {
				t.Fatalf("%+v, want %+v", l, of)
			}
			if over := overOf(&l); l.Rate != price.Mixed && (over.Sign() < 0 || over.Cmp(big.NewRat(of.requests, 1)) >= 0) {
				t.Fatalf("%+v exceeds quantity × rate by %s of %d requests", l, over, of.requests)
			}
			charged -= l.Amount
			delete(want, l.Kind.String()+l.Size)
		}
		if len(want) > 0 || charged != 0 {
			t.Fatalf("missing are %v, and %d of the charges", fmt.Sprint(want), charged)
		}
	})
}

// overOf is by how much an amount exceeds quantity × rate.
func overOf(l *price.Line) *big.Rat {
	per := int64(1_000_000)
	if l.Kind == price.Image {
		per = 1
	}
	product := new(big.Rat).Mul(big.NewRat(l.Quantity, 1), big.NewRat(l.Rate, per))
	return new(big.Rat).Sub(big.NewRat(l.Amount, 1), product)
}
