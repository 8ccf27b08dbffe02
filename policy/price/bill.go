package price

import (
	"iter"
	"math/bits"
	"slices"

	"sluice/policy"
	"sluice/policy/unit"
)

// Usage is what a request used, by its answer. Numbers that the answer lacks are 0.
type Usage struct {
	Input, Output, Total int64 // tokens; what Total has beyond the other two is output

	Cached        int64 // of the input, tokens that hit a cache
	Explicit      bool  // requests create the cache explicitly
	CacheCreation int64 // of the input, tokens that were written to a cache
	ImageInput    int64 // of the input, tokens of pictures
	VideoInput    int64 // of the input, tokens of films
	AudioInput    int64 // of the input, tokens of sound
	Thinking      int64 // of the output, tokens spent thinking

	Images int64  // pictures that were made
	Pixels int64  // width × height of one
	Size   string // as the answer spells it; empty: it names none
	Asked  string // the size as the request spells it; empty: it names none
}

// Asked is the usage of so many pictures of the size that a request names.
func Asked(images int64, size string) Usage {
	return Usage{Images: images, Pixels: policy.Pixels(size), Asked: size}
}

// AskedBy is the usage of what a request asks to be made.
func AskedBy(q *policy.Request) Usage { return Asked(int64(q.Images), q.Size) }

// Line is an item of a bill.
type Line struct {
	Kind     Kind
	Size     string // of pictures, the size in the price list that applies: "1048576" pixels or "1K"; empty: none applies
	Quantity int64  // tokens, or pictures
	Rate     int64  // for a million tokens or for one picture, in the smallest amount of the currency
	Amount   int64  // Quantity × Rate, rounded up
}

// Bill has a line for each kind, in the order of Table. A line without a quantity has no effect.
type Bill [Kinds]Line

// Of computes the bill of a request; with a nil price nothing costs anything. contradicts reports a usage whose parts
// exceed their whole; they are reduced to it.
func Of(p *Price, u *Usage) (b Bill, contradicts bool) {
	parts, contradicts := u.split()
	if p == nil {
		p = &Price{}
	}
	rates := p.at(bounded(u.Input))
	for k := range Kind(Kinds) {
		rate, size := rates.Of(k), ""
		if k == Image {
			rate, size = p.picture(u)
		}
		b[k] = Line{k, size, parts[k], rate, times(parts[k], rate, k.per())}
	}
	return b, contradicts
}

// Lines yields the lines that have a quantity.
func (b *Bill) Lines() iter.Seq[*Line] {
	return func(yield func(*Line) bool) {
		for k := range b {
			if b[k].Quantity > 0 && !yield(&b[k]) {
				return
			}
		}
	}
}

// Total is the sum of the bill.
func (b *Bill) Total() (sum int64) {
	for k := range b {
		sum = bounded(sum + b[k].Amount)
	}
	return sum
}

// Tokens returns how many tokens a usage counts against limits: the total it states, or the sum of input and output.
func (u *Usage) Tokens() int64 {
	return max(bounded(u.Total), bounded(bounded(u.Input)+bounded(u.Output)))
}

// split divides the usage among the kinds. Cache hits and creation are taken from the text of the input first, then from its
// pictures, films and sound.
func (u *Usage) split() (parts [Kinds]int64, contradicts bool) {
	part := func(whole *int64, n int64) int64 {
		n = bounded(n)
		contradicts = contradicts || n > *whole
		n = min(n, *whole)
		*whole -= n
		return n
	}
	parts[Input] = bounded(u.Input)
	parts[ImageInput] = part(&parts[Input], u.ImageInput)
	parts[VideoInput] = part(&parts[Input], u.VideoInput)
	parts[AudioInput] = part(&parts[Input], u.AudioInput)

	whole := bounded(u.Input)
	hits := Cached
	if u.Explicit {
		hits = ExplicitCached
	}
	parts[hits] = part(&whole, u.Cached)
	parts[CacheCreation] = part(&whole, u.CacheCreation)
	cache := parts[hits] + parts[CacheCreation]
	for _, k := range [...]Kind{Input, ImageInput, VideoInput, AudioInput} {
		n := min(cache, parts[k])
		parts[k], cache = parts[k]-n, cache-n
	}

	parts[Output] = u.Tokens() - bounded(u.Input)
	parts[Thinking] = part(&parts[Output], u.Thinking)
	parts[Image] = bounded(u.Images)
	return parts, contradicts
}

// bounded is n within what can be counted exactly.
func bounded(n int64) int64 { return min(max(n, 0), unit.Most) }

// times is a × b ÷ c, rounded up, at most what can be counted exactly.
func times(a, b, c int64) int64 {
	if a == 0 { // most kinds of most requests
		return 0
	}
	return mulDiv(a, b, c-1, c)
}

// mulDiv is product for any a and b, at most what can be counted exactly.
func mulDiv(a, b, more, c int64) int64 { return bounded(product(bounded(a), bounded(b), more, c)) }

// mostAmount bounds the amount of a sum's line: those of all lines can be added up.
const mostAmount = unit.Most << 8

// product is (a × b + more) ÷ c, rounded down, at most mostAmount.
func product(a, b, more, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(more), 0)
	hi += carry
	if hi >= uint64(c) {
		return mostAmount
	}
	n, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(n, mostAmount))
}

// mulMod is the remainder of a × b ÷ c.
func mulMod(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(bits.Rem64(hi, lo, uint64(c)))
}

// Kind is what an item of a bill is for, an index of Table.
type Kind int

// The kinds. Append new ones. The ledger and the price in a task's claim have them by name.
const (
	Input          Kind        = iota // input tokens that are of no other kind
	Cached                            // input tokens that hit the service's own cache
	ExplicitCached                    // input tokens that hit a cache that requests created
	CacheCreation                     // input tokens that were written to such a cache
	ImageInput                        // input tokens of pictures
	VideoInput                        // input tokens of films
	AudioInput                        // input tokens of sound
	Output                            // output tokens that are of no other kind
	Thinking                          // output tokens spent thinking
	Image                             // pictures that were made
	Kinds          = int(iota)        // how many there are
)

// Unknown is the kind of what was used without a bill. Table and a Bill have no row for it.
const Unknown = Kind(Kinds)

// Row is a row of the table of kinds.
type Row struct {
	Name   string // in the ledger and in a task's claim
	Member string // of a price in the teams file
	Parent Kind   // a kind without a price costs what its parent costs; the kind itself if it has none
}

// Table has a row for each kind.
var Table = [Kinds]Row{
	Input:          {"input", "input_per_million", Input},
	Cached:         {"cached", "cached_per_million", Input},
	ExplicitCached: {"explicit_cached", "explicit_cached_per_million", Cached},
	CacheCreation:  {"cache_creation", "cache_creation_per_million", Input},
	ImageInput:     {"image_input", "image_input_per_million", Input},
	VideoInput:     {"video_input", "video_input_per_million", Input},
	AudioInput:     {"audio_input", "audio_input_per_million", Input},
	Output:         {"output", "output_per_million", Output},
	Thinking:       {"thinking", "thinking_per_million", Output},
	Image:          {"image", "image", Image},
}

// String returns the kind's name in the ledger.
func (k Kind) String() string {
	if k >= Unknown {
		return "unknown"
	}
	return Table[k].Name
}

// KindOf returns the kind with that name; false if no kind has it.
func KindOf(name string) (Kind, bool) {
	i := slices.IndexFunc(Table[:], func(r Row) bool { return r.Name == name })
	return Kind(max(i, 0)), i >= 0
}

// Unit is the unit of limits that the kind is counted in, an index of [unit.Table]. Prices of tokens are for a million of them.
func (k Kind) Unit() int {
	if k == Image {
		return unit.Images
	}
	return unit.Tokens
}

// per is how many of a kind its price is for.
func (k Kind) per() int64 {
	if k.Unit() == unit.Tokens {
		return 1_000_000
	}
	return 1
}
