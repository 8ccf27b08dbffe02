package teams

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/price"
	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// everyDay is after the first day of every price.
const everyDay = math.MaxInt

// day is a day as the ledger numbers it, 20261101.
var day = strictyaml.Form[int]{Allowed: "a day in UTC such as 2026-11-01", Parse: func(text string) (int, bool) {
	at, err := time.Parse(time.DateOnly, text)
	return price.DayOf(at), err == nil && at.Year() >= 1
}}

// sizeWord is a size as requests may name it.
var sizeWord = strictyaml.Spelled(`^[0-9A-Za-z*]{1,32}$`, "a size as requests name it, such as 1K or 1024*1024")

// readPrices reads what models cost. It warns of prices that never count.
func readPrices(n strictyaml.Node) (all price.List) {
	n.Items("a list of prices", func(item strictyaml.Node) {
		p := readPrice(item)
		if all.Covers(p.Pattern, p.From) {
			advice := ""
			if p.From > 0 {
				advice = ": write the newest price first"
			}
			item.Warn("never counts: a price before it catches all of " + strictyaml.Shown(string(p.Pattern)) + advice)
		}
		all = append(all, p)
	})
	return all
}

func readPrice(n strictyaml.Node) (p price.Price) {
	fields := append([]strictyaml.Field{
		strictyaml.Must("model", strictyaml.One(&p.Pattern, modelPattern)),
		strictyaml.May("from", strictyaml.One(&p.From, day)),
	}, priceFields(&p.Rates, false)...)
	fields = append(fields, strictyaml.May("images", several("sizes",
		func(item strictyaml.Node) { p.Images = append(p.Images, readSize(item, p.Images)) })))
	rates := append(priceFields(&p.Rates, true),
		strictyaml.May("above", several("borders", func(item strictyaml.Node) { p.Above = append(p.Above, readBorder(item, p.Above)) })))
	given := n.Fields(append(fields, rates...)...)
	if delete(given, "from"); len(given) == 1 && given["model"] {
		n.Fault(strictyaml.Fault{Given: "no price", Allowed: namesOf(append(fields[2:], rates...))})
	}
	return p
}

// readBorder reads the rates of requests with a long input. It warns of a border that is not above the ones before it.
func readBorder(n strictyaml.Node, before []price.Border) (b price.Border) {
	rates := priceFields(&b.Rates, true)
	given := n.Fields(append([]strictyaml.Field{strictyaml.Must("input", strictyaml.One(&b.Input, strictyaml.Whole[int64](1, unit.Most)))},
		rates...)...)
	if len(given) == 1 && given["input"] {
		n.Fault(strictyaml.Fault{Given: "no price", Allowed: namesOf(rates)})
	}
	for _, other := range before {
		switch {
		case other.Input == b.Input:
			n.Warn(fmt.Sprintf("never counts: a border before it is at %d, too", b.Input))
			return b
		case other.Input > b.Input:
			n.Warn(fmt.Sprintf("%d stands behind %d: above has the borders in rising order", b.Input, other.Input))
			return b
		}
	}
	return b
}

// readSize reads the price of pictures of a size. It warns of a size that no picture has.
func readSize(n strictyaml.Node, before []price.Size) (s price.Size) {
	given := n.Fields(
		strictyaml.May("up_to_pixels", strictyaml.One(&s.UpToPixels, strictyaml.Whole[int64](1, unit.Most))),
		strictyaml.May("size", strictyaml.One(&s.Word, sizeWord)),
		strictyaml.Must("image", strictyaml.One(&s.Image, amount(n))),
	)
	switch {
	case given == nil:
	case given["up_to_pixels"] && given["size"]:
		n.Fault(strictyaml.Fault{Given: "up_to_pixels beside size", Allowed: "one of them"})
	case !given["up_to_pixels"] && !given["size"]:
		n.Fault(strictyaml.Fault{Given: "no size", Allowed: "up_to_pixels or size"})
	case slices.ContainsFunc(before, func(b price.Size) bool { return b.UpToPixels == s.UpToPixels && strings.EqualFold(b.Word, s.Word) }):
		n.Warn("never counts: an entry before it has the same size")
	case s.Word != "" && !policy.IsSize(strings.ToUpper(s.Word)):
		n.Warn("no request can ask for the size " + strictyaml.Shown(s.Word) +
			", only for 1K, 2K and width*height; it counts if an answer says it")
	}
	return s
}

// several returns what reads a list of at least one element.
func several(of string, read func(strictyaml.Node)) func(strictyaml.Node) {
	return func(n strictyaml.Node) {
		if n.Items("a list of "+of, read) == 0 {
			n.Fault(strictyaml.Fault{Given: "an empty list", Allowed: "a list of " + of + ", or no such line for none"})
		}
	}
}

// priceFields are the prices of the kinds that count tokens, or of the other kinds.
func priceFields(rates *price.Rates, tokens bool) (fields []strictyaml.Field) {
	for k := range price.Kind(price.Kinds) {
		if (k.Unit() == unit.Tokens) == tokens {
			fields = append(fields, strictyaml.May(price.Table[k].Member, func(v strictyaml.Node) {
				if n, ok := strictyaml.Read(v, amount(v)); ok {
					rates.Set(k, n)
				}
			}))
		}
	}
	return fields
}

// namesOf renders the names of fields as alternatives.
func namesOf(fields []strictyaml.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strictyaml.AnyOf(names)
}
