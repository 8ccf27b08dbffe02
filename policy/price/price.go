package price

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/unit"
)

// Price is what a model costs from a day on. The zero Price costs nothing. It MUST NOT be changed once it is in a List: requests hold it.
type Price struct {
	Pattern policy.Pattern `json:"model"`           // the models it is for
	From    int            `json:"from,omitzero"`   // the first day in UTC, as 20261101; 0: it always counts
	Rates   Rates          `json:"rates,omitzero"`  //
	Above   []Border       `json:"above,omitzero"`  // by the request's input
	Images  []Size         `json:"images,omitzero"` // by the size of a picture
}

// Border has other rates for requests with a long input.
type Border struct {
	Input int64 `json:"input"` // the rates count if the request has more input tokens than this
	Rates Rates `json:"rates"` // kinds that are absent keep the Price's rate
}

// Size has the rate of pictures of a size.
type Size struct {
	UpToPixels int64  `json:"up_to_pixels,omitzero"` // width × height of the largest picture that it applies to; 0: it applies to Word
	Word       string `json:"size,omitzero"`         // a size as requests name it, "1K"
	Image      int64  `json:"image"`                 // one picture, in the smallest amount of the currency
}

// Rates has a rate for some of the kinds, in the smallest amount of the currency: for a million tokens or for one picture.
type Rates struct {
	amounts [Kinds]int64
	given   [Kinds]bool
}

// Set gives a kind a rate.
func (r *Rates) Set(k Kind, amount int64) { r.amounts[k], r.given[k] = amount, true }

// Given returns the rate of a kind as it was set; false if it was not set.
func (r *Rates) Given(k Kind) (int64, bool) { return r.amounts[k], r.given[k] }

// Of returns what a kind costs: its own rate, or that of the nearest parent that has one; else 0.
func (r *Rates) Of(k Kind) int64 {
	for !r.given[k] && Table[k].Parent != k {
		k = Table[k].Parent
	}
	return r.amounts[k]
}

// Missing names what the price lacks to count amounts: a price at all if it is nil, or one of tokens or of images; empty: nothing. A price
// of tokens has one of input or of output, and 0 is a price, too.
func (p *Price) Missing(a *unit.Amounts) string {
	if p == nil {
		return "price"
	}
	r := &p.Rates
	switch {
	case a[unit.Tokens] > 0 && !r.given[Input] && !r.given[Output]:
		return "price of tokens"
	case a[unit.Images] > 0 && !r.given[Image] && len(p.Images) == 0:
		return "price of images"
	}
	return ""
}

// MarshalJSON writes the rates that were set by the names of their kinds.
func (r Rates) MarshalJSON() ([]byte, error) {
	named := map[string]int64{}
	for k, row := range Table {
		if r.given[k] {
			named[row.Name] = r.amounts[k]
		}
	}
	return json.Marshal(named)
}

// UnmarshalJSON reads what MarshalJSON has written. It leaves out kinds that a newer version knows.
func (r *Rates) UnmarshalJSON(text []byte) error {
	var named map[string]int64
	err := json.Unmarshal(text, &named)
	for name, amount := range named {
		if k, ok := KindOf(name); ok {
			r.Set(k, amount)
		}
	}
	return err
}

// DayOf is the day of a moment, in UTC, as prices and the ledger number it: 20261101.
func DayOf(t time.Time) int {
	year, month, day := t.UTC().Date()
	return year*10_000 + int(month)*100 + day
}

// List has the prices in the order of the teams file.
type List []Price

// For returns the first price for a model whose day has come; nil if the model has none on that day.
func (l List) For(model string, day int) *Price {
	for i := range l {
		if p := &l[i]; p.From <= day && p.Pattern.Match(model) {
			return p
		}
	}
	return nil
}

// Covers reports whether one price of the list applies, from a day on, to every model that the pattern matches: it
// does if it matches the pattern's own text, because only a star matches a star. Prices that cover the pattern only
// together do not count.
func (l List) Covers(pattern policy.Pattern, from int) bool {
	return l.For(string(pattern), from) != nil
}

// Missing names what the models of a pattern lack on a day: see [Price.Missing]. Only the price of all models must have tokens and images:
// a narrower one may be of models that make only one of them.
func (l List) Missing(pattern policy.Pattern, day int) string {
	var made unit.Amounts
	if pattern == "*" {
		made[unit.Tokens], made[unit.Images] = 1, 1
	}
	return l.For(string(pattern), day).Missing(&made)
}

// Partial returns, by pattern, what prices of tokens alone or of images alone lack on a day. That of all models is not among them.
func (l List) Partial(day int) (lacks []string) {
	for i := range l {
		pattern := l[i].Pattern
		again := slices.ContainsFunc(l[:i], func(p Price) bool { return p.Pattern == pattern })
		p := l.For(string(pattern), day)
		if missing := p.Missing(&unit.Amounts{unit.Tokens: 1, unit.Images: 1}); !again && p != nil && pattern != "*" && missing != "" {
			lacks = append(lacks, fmt.Sprintf("%s has no %s", pattern, missing))
		}
	}
	return lacks
}

// Awaited warns, once for each pattern, of models whose first price begins after a day.
func (l List) Awaited(day int) (warnings []string) {
	for i := range l {
		pattern, first := l[i].Pattern, l[i].From
		again := slices.ContainsFunc(l[:i], func(p Price) bool { return p.Pattern == pattern })
		if again || l.Covers(pattern, day) {
			continue
		}
		for _, p := range l {
			if p.Pattern.Match(string(pattern)) {
				first = min(first, p.From)
			}
		}
		warnings = append(warnings, fmt.Sprintf("prices: %s has no price until %04d-%02d-%02d: until then these models count as free, and a "+
			"quota of spend refuses them",
			pattern, first/10_000, first/100%100, first%100))
	}
	return warnings
}

// at returns the rates for a request with that many input tokens: the rates of the highest border that they exceed
// replace the Price's.
func (p *Price) at(input int64) Rates {
	rates, passed := p.Rates, int64(-1)
	for _, b := range p.Above {
		if input <= b.Input || b.Input <= passed {
			continue
		}
		rates, passed = p.Rates, b.Input
		for k := range Kind(Kinds) {
			if amount, ok := b.Rates.Given(k); ok {
				rates.Set(k, amount)
			}
		}
	}
	return rates
}

// label names the size in the ledger.
func (s *Size) label() string {
	if s.Word != "" {
		return s.Word
	}
	return strconv.FormatInt(s.UpToPixels, 10)
}

func (s *Size) isNamed(word string) bool { return s.Word != "" && strings.EqualFold(s.Word, word) }

// picture returns the rate of a picture, and the label of the size that has it. The smallest size in pixels that
// includes the picture counts or, without one, the size whose word the answer or the request names. The request's word
// counts if the answer names no size; a word such as "2K" also counts if the answer is in pixels. If no size applies,
// the rate of an image counts. Without that rate, and for a picture of unknown size, the highest rate counts.
func (p *Price) picture(u *Usage) (rate int64, size string) {
	pixels, asked := u.Pixels, u.Asked
	if u.Size != "" && (pixels == 0 || policy.Pixels(asked) > 0) { // the answer says another word, or other pixels
		asked = ""
	}
	image, ok := p.Rates.Given(Image)
	var fits, named, dearest *Size
	for i := range p.Images {
		s := &p.Images[i]
		if pixels > 0 && pixels <= s.UpToPixels && (fits == nil || s.UpToPixels < fits.UpToPixels) {
			fits = s
		}
		if s.isNamed(u.Size) && (named == nil || !named.isNamed(u.Size)) || named == nil && s.isNamed(asked) {
			named = s // the answer's word comes before the request's
		}
		if dearest == nil || s.Image > dearest.Image {
			dearest = s
		}
	}
	switch {
	case fits != nil:
		return fits.Image, fits.label()
	case named != nil:
		return named.Image, named.label()
	case dearest == nil || ok && (pixels > 0 || u.Size != "" || asked != "" || image >= dearest.Image):
		return image, ""
	}
	return dearest.Image, dearest.label()
}
