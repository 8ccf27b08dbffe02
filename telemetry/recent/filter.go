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

// ErrCursor is the error of a cursor that no page returned.
var ErrCursor = errors.New("the cursor is not one of a page")

// cursor is a place in the list: after the first skip requests that arrived at a time.
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

// page returns a page of lines, which were read and are sorted, oldest first.
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
	at, last := cursor{at: -1}, cursor{}
	for _, line := range slices.Backward(lines) {
		if !f.From.IsZero() && line.At.Before(f.From) {
			break
		}
		if micros := line.At.UnixMicro(); at.at != micros {
			at = cursor{at: micros}
		}
		at.skip++
		if from.at >= 0 && (at.at > from.at || at.at == from.at && at.skip <= from.skip) || !f.admits(line.read) {
			continue
		}
		r, err := line.whole()
		if err != nil { // a line of a later version, perhaps
			continue
		}
		if len(p.Requests) == size {
			p.Next = last.String()
			break
		}
		p.Requests, last = append(p.Requests, *r), at
	}
	return p, nil
}

func (f *Filter) admits(l *fields) bool {
	return (f.Teams == nil || slices.Contains(f.Teams, l.team)) &&
		(f.ID == "" || f.ID == l.id) &&
		(f.Status == 0 || f.Status == l.status) &&
		(f.Model == "" || f.Model == l.model) &&
		(f.Refusal == "" || f.Refusal == l.refusal || f.Refusal == AnyRefusal && l.refusal != "" || strings.HasPrefix(l.refusal, f.Refusal+"/"))
}
