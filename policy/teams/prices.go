package teams

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/price"
)

// everyDay is behind the first day of every price.
const everyDay = math.MaxInt

// tokenKinds are the kinds whose price is for a million tokens.
var tokenKinds = func() (kinds []price.Kind) {
	for k := range price.Kind(price.Kinds) {
		if k != price.Image {
			kinds = append(kinds, k)
		}
	}
	return kinds
}()

// day is a day as the ledger numbers it, 20261101.
var day = form[int]{allowed: "a day in UTC such as 2026-11-01", parse: func(text string) (int, bool) {
	at, err := time.Parse(time.DateOnly, text)
	return at.Year()*10_000 + int(at.Month())*100 + at.Day(), err == nil && at.Year() >= 1
}}

// sizeWord is a size as requests may name it.
var sizeWord = spelled(`^[0-9A-Za-z*]{1,32}$`, "a size as requests name it, such as 1K or 1024*1024")

// readPrices reads what models cost. It warns of what can never count.
func readPrices(n node) (all price.List) {
	n.items("a list of prices", func(item node) {
		p := readPrice(item)
		if all.Covers(p.Pattern, p.From) {
			advice := ""
			if p.From > 0 {
				advice = ": write the newest price first"
			}
			item.warn("never counts: a price before it catches all of " + shown(string(p.Pattern)) + advice)
		}
		all = append(all, p)
	})
	return all
}

func readPrice(n node) (p price.Price) {
	fields := []field{
		must("model", one(&p.Pattern, modelPattern)),
		may("from", one(&p.From, day)),
		rateField(&p.Rates, price.Image),
		may("images", several("sizes", func(item node) { p.Images = append(p.Images, readSize(item, p.Images)) })),
	}
	rates := append(tokenFields(&p.Rates),
		may("above", several("borders", func(item node) { p.Above = append(p.Above, readBorder(item, p.Above)) })))
	given := n.fields(append(fields, rates...)...)
	if delete(given, "from"); len(given) == 1 && given["model"] {
		n.fault(Fault{Given: "no price", Allowed: namesOf(append(fields[2:], rates...))})
	}
	return p
}

// readBorder reads the rates of requests with a long input. It warns of a border that is not above those before it.
func readBorder(n node, before []price.Border) (b price.Border) {
	rates := tokenFields(&b.Rates)
	given := n.fields(append([]field{must("input", one(&b.Input, whole[int64](1, MaxAmount)))}, rates...)...)
	if len(given) == 1 && given["input"] {
		n.fault(Fault{Given: "no price", Allowed: namesOf(rates)})
	}
	for _, other := range before {
		switch {
		case other.Input == b.Input:
			n.warn(fmt.Sprintf("never counts: a border before it is at %d, too", b.Input))
			return b
		case other.Input > b.Input:
			n.warn(fmt.Sprintf("%d stands behind %d: above has the borders in rising order", b.Input, other.Input))
			return b
		}
	}
	return b
}

// readSize reads the price of pictures of a size. It warns of a size that no picture has.
func readSize(n node, before []price.Size) (s price.Size) {
	given := n.fields(
		may("up_to_pixels", one(&s.UpToPixels, whole[int64](1, MaxAmount))),
		may("size", one(&s.Word, sizeWord)),
		must("image", one(&s.Image, n.money())),
	)
	switch {
	case given == nil:
	case given["up_to_pixels"] && given["size"]:
		n.fault(Fault{Given: "up_to_pixels beside size", Allowed: "one of them"})
	case !given["up_to_pixels"] && !given["size"]:
		n.fault(Fault{Given: "no size", Allowed: "up_to_pixels or size"})
	case slices.ContainsFunc(before, func(b price.Size) bool { return b.UpToPixels == s.UpToPixels && strings.EqualFold(b.Word, s.Word) }):
		n.warn("never counts: an entry before it has the same size")
	case s.Word != "" && !policy.IsSize(strings.ToUpper(s.Word)):
		n.warn("no request can ask for the size " + shown(s.Word) + ", only for 1K, 2K and width*height; it counts if an answer says it")
	}
	return s
}

// several returns what reads a list of at least one element.
func several(of string, read func(node)) func(node) {
	return func(n node) {
		if n.items("a list of "+of, read) == 0 {
			n.fault(Fault{Given: "an empty list", Allowed: "a list of " + of + ", or no such line for none"})
		}
	}
}

// tokenFields are the prices of a million tokens of each kind.
func tokenFields(rates *price.Rates) (fields []field) {
	for _, k := range tokenKinds {
		fields = append(fields, rateField(rates, k))
	}
	return fields
}

func rateField(rates *price.Rates, k price.Kind) field {
	return may(price.Table[k].Member, func(v node) {
		if amount, ok := read(v, v.money()); ok {
			rates.Set(k, amount)
		}
	})
}

// namesOf renders the names of fields as alternatives.
func namesOf(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return anyOf(names)
}
