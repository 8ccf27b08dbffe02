package pages

import "strconv"

// pageLength is how many rows a page of a list has.
const pageLength = 100

// pager is one page of a list.
type pager struct {
	From, To       int // the rows shown, from 1
	Previous, Next string
}

// newPager computes the page with a number, as it stands in a query, of so many rows. A number that there is none of is that of
// the nearest page. link is the address of a page.
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
