package pages

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/console/chart"
	"sluice/policy/price"
	"sluice/policy/unit"
)

// grouped formats a whole number with commas: 12,345.
func grouped(n int64) string { return strings.Replace(unit.Grouped(n), "-", "−", 1) }

// compact formats a number with few digits: 1.24 M. The exact number belongs in the tooltip.
func compact(n int64) string {
	if n < 1e5 {
		return grouped(n)
	}
	size, word := chart.Scale(float64(n))
	return significant(float64(n)/size) + "\u00a0" + word
}

// significant formats a number with three significant digits.
func significant(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x >= 100:
		return grouped(int64(math.Round(x)))
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// money formats an amount of money with some decimals; the element's value is the exact amount, as sluice usage prints it.
func money(m unit.Money, n int64, decimals int) template.HTML {
	if n == 0 && decimals > 2 {
		return count(0) // a column of costs has many of them
	}
	exact := m.Written(unit.NameSpend, n)
	return exactly(exact, rounded(m, n, decimals))
}

// rounded formats money with a fixed number of decimals. An amount that would round to zero is "<0.01" or so.
func rounded(m unit.Money, n int64, decimals int) string {
	scale := int64(math.Pow10(decimals))
	part := m.Parts() / scale
	least := "0." + strings.Repeat("0", decimals-1) + "1"
	switch {
	case n > 0 && n < part/2:
		return "<" + least
	case n < 0 && -n < part/2:
		return ">−" + least
	}
	sign := ""
	if n < 0 {
		sign, n = "−", -n
	}
	parts := (n + part/2) / part
	return fmt.Sprintf("%s%s.%0*d", sign, grouped(parts/scale), decimals, parts%scale)
}

// count formats a whole number that programs can read, too.
func count(n int64) template.HTML { return exactly(strconv.FormatInt(n, 10), grouped(n)) }

// brief is compact with the exact number as the element's value and in the tooltip.
func brief(n int64) template.HTML { return exactly(strconv.FormatInt(n, 10), compact(n)) }

// exactly writes an element with the shown number and its exact value. Both consist of digits and signs.
func exactly(value, shown string) template.HTML {
	shown = template.HTMLEscapeString(shown)
	if value == "0" {
		return template.HTML(`<data value="0" class="zero">` + shown + `</data>`) //nolint:gosec // digits
	}
	if strings.ReplaceAll(shown, ",", "") == value {
		return template.HTML(`<data value="` + value + `">` + shown + `</data>`) //nolint:gosec // digits
	}
	return template.HTML(`<data value="` + value + `" title="` + value + `">` + shown + `</data>`) //nolint:gosec // digits
}

// unitAmount is an amount of one unit.
type unitAmount struct {
	Unit unit.Name
	N    int64
}

// counts returns the amounts of all units but spend, requests first.
func counts(a unit.Amounts) (list []unitAmount) {
	for i, n := range a {
		if i != unit.Spend {
			list = append(list, unitAmount{unit.Names[i], n})
		}
	}
	return list
}

// beside returns the amounts of all units but spend and requests; without an argument they are 0.
func beside(a ...unit.Amounts) []unitAmount { return counts(append(a, unit.Amounts{})[0])[1:] }

// of returns the amount of the named unit.
func of(name string, a unit.Amounts) int64 { return a[slices.Index(unit.Names[:], unit.Name(name))] }

// narrow formats an amount for a narrow column: token counts are large.
func narrow(a unitAmount) template.HTML {
	if a.Unit == unit.NameTokens {
		return brief(a.N)
	}
	return count(a.N)
}

// amount formats an amount of a limit: money has two decimals.
func amount(m unit.Money, name unit.Name, n int64) template.HTML {
	if name == unit.NameSpend {
		return money(m, n, 2)
	}
	return count(n)
}

// span formats a duration: 0.42 ms, 812 ms, 3.2 s, 4 min 10 s, 3 h 5 min, 12 days.
func span(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case d < 0:
		return "0 s"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	case d < time.Second:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// age formats the time since something began: 4 min, 30 h. It is empty within the first minute, and coarse, so that a live row seldom
// changes.
func age(begun, now time.Time) string {
	switch d := now.Sub(begun); {
	case begun.IsZero() || d < time.Minute:
		return ""
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
}

// milliseconds formats a duration as a number, for a column whose heading has the unit.
func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 2, 64)
	case ms < 100:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return grouped(int64(math.Round(ms)))
}

// several formats a number with its noun: 1 key, 3 keys.
func several(n int64, noun string) string {
	return grouped(n) + " " + unit.Noun(n, noun+"s")
}

// pageLength is the number of rows on a page of a list.
const pageLength = 100

// pager is one page of a list.
type pager struct {
	From, To       int // the shown rows, from 1
	Previous, Next string
}

// newPager computes the page with a query's number of a list with rows rows. A number out of range selects the nearest page. link returns
// a page's address.
func newPager(number string, rows int, link func(page string) string) (p pager, first, end int) {
	n, err := strconv.Atoi(number)
	pages := max((rows+pageLength-1)/pageLength, 1)
	if n = min(max(n, 1), pages); err != nil {
		n = 1
	}
	first, end = (n-1)*pageLength, min(n*pageLength, rows)
	p.From, p.To = first+1, end
	if n > 1 {
		p.Previous = link(strconv.Itoa(n - 1))
	}
	if n < pages {
		p.Next = link(strconv.Itoa(n + 1))
	}
	return p, first, end
}

// nameOfKind formats the name of a row by kind for people: image 1048576 as image up to 1024 × 1024.
func nameOfKind(name string) string {
	kind, size, _ := strings.Cut(name, " ")
	return strings.TrimSpace(kind + " " + price.SizeText(size))
}
