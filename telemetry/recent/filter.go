package recent

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Filter selects requests. The zero value selects all.
type Filter struct {
	Teams   []string  // of any of these; nil: of all, and those without a team
	ID      string    // of one request; empty: any
	Status  int       // HTTP status; 0: any
	Refusal string    // stage/reason, or a stage, or [AnyRefusal]; empty: any outcome
	Model   string    // empty: any
	From    time.Time // that arrived then or later; zero: no bound
	Cursor  string    // [Page.Next] of the page before; empty: the newest requests
	Size    int       // requests on a page; 0: 50; at most 1,000
}

const (
	defaultPage = 50
	largestPage = 1000
)

// AnyRefusal selects every request that Sluice refused.
const AnyRefusal = "any"

// Page is a page of requests, newest first.
type Page struct {
	Requests []Request
	Next     string // the cursor of the next page; empty: this is the last one
}

// ErrCursor is the error of a cursor that no page had.
var ErrCursor = errors.New("the cursor is not one of a page")

// cursor is a place in the list: behind the first skip of the requests that arrived at a time.
type cursor struct {
	at   int64 // microseconds since 1970
	skip int
}

func (c cursor) String() string { return strconv.FormatInt(c.at, 36) + "-" + strconv.Itoa(c.skip) }

func readCursor(text string) (c cursor, err error) {
	at, skip, _ := strings.Cut(text, "-")
	var errAt, errSkip error
	c.at, errAt = strconv.ParseInt(at, 36, 64)
	c.skip, errSkip = strconv.Atoi(skip)
	if errAt != nil || errSkip != nil || c.skip < 1 {
		return cursor{}, fmt.Errorf("%w: %q", ErrCursor, text)
	}
	return c, nil
}

// page returns a page of lines, which are sorted, oldest first.
func (f *Filter) page(lines []Line) (p Page, err error) {
	from := cursor{at: -1}
	if f.Cursor != "" {
		if from, err = readCursor(f.Cursor); err != nil {
			return p, err
		}
	}
	size := min(f.Size, largestPage)
	if size < 1 {
		size = defaultPage
	}
	needles := f.needles()
	at, last := cursor{at: -1}, cursor{}
	for _, line := range slices.Backward(lines) {
		if !f.From.IsZero() && line.At.Before(f.From) {
			break
		}
		if micros := line.At.UnixMicro(); at.at != micros {
			at = cursor{at: micros}
		}
		at.skip++
		if from.at >= 0 && (at.at > from.at || at.at == from.at && at.skip <= from.skip) || !line.has(needles) {
			continue
		}
		r, err := line.request()
		if err != nil || !f.admits(&r) { // a line of a later version, perhaps
			continue
		}
		if len(p.Requests) == size {
			p.Next = last.String()
			break
		}
		p.Requests, last = append(p.Requests, r), at
	}
	return p, nil
}

func (f *Filter) admits(r *Request) bool {
	return (f.Teams == nil || slices.Contains(f.Teams, r.Team)) &&
		(f.ID == "" || f.ID == r.ID) &&
		(f.Status == 0 || f.Status == r.Status) &&
		(f.Model == "" || f.Model == r.Model) &&
		(f.Refusal == "" || f.Refusal == r.Refusal || f.Refusal == AnyRefusal && r.Refusal != "" || strings.HasPrefix(r.Refusal, f.Refusal+"/"))
}

// needles are texts that each line has that the filter admits. To look for them is much cheaper than to read the line.
func (f *Filter) needles() (list []string) {
	add := func(name, value, end string) {
		escaped := strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c >= 0x7f || c == '"' || c == '\\' })
		if value != "" && !escaped {
			list = append(list, `"`+name+`":"`+value+end)
		}
	}
	if len(f.Teams) == 1 {
		add("team", f.Teams[0], `"`)
	}
	add("id", f.ID, `"`)
	add("model", f.Model, `"`)
	if f.Refusal != AnyRefusal {
		add("refusal", f.Refusal, "") // perhaps a stage alone
	}
	if f.Status != 0 {
		list = append(list, `"status":`+strconv.Itoa(f.Status)+",")
	}
	return list
}

func (l Line) has(needles []string) bool {
	return !slices.ContainsFunc(needles, func(needle string) bool { return !strings.Contains(l.Text, needle) })
}
