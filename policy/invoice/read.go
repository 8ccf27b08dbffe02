package invoice

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/policy/price"
)

// Item identifies a sum.
type Item struct {
	Day     int    // in UTC, as 20261121
	Account string // at the service; empty in differences, and if the bill names none
	Model   string
	Kind    string // a name of price.Table, or Unknown
}

// Sum is what was charged for an item.
type Sum struct {
	Quantity int64 // tokens or pictures
	Amount   int64 // in the Span's Money
}

// Sums are the sums of a bill.
type Sums struct {
	Of       map[Item]Sum
	Counted  bool     // the bill has quantities
	Accounts []string // the bill's, sorted, at most a hundred; nil if it names none
	Named    bool     // the map translates the bill's words into accounts at the service
	Own      bool     // it is Sluice's own, which says even of unknown kinds whether they are tokens or pictures
	LeftOut  []int    // days in UTC of which the bill has only a part: Of lacks them, because the span does not name them
	Partial  []int    // likewise, but the span names them
}

// Days are the first and the last day of the bill; 0: it has none.
func (s *Sums) Days() (first, last int) {
	for item := range s.Of {
		if first == 0 || item.Day < first {
			first = item.Day
		}
		last = max(last, item.Day)
	}
	return first, last
}

// Bounds on the words of a bill that are kept.
const (
	mostWords    = 10_000
	mostAccounts = 100
)

// Read adds up a bill. A fault of the bill names "line N, column M"; that no line can be compared is a fault, too.
func Read(from io.Reader, m *Map, span Span) (*Sums, error) {
	in := csv.NewReader(withoutBOM(from))
	in.ReuseRecord = true
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("line 1, column 1: no heads of columns: %w", err)
	}
	r, err := newReader(m, head)
	if err != nil {
		return nil, err
	}
	for {
		line, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return r.end(span)
		case err != nil:
			return nil, csvFault(err)
		}
		if fault, column := r.add(line, span); fault != "" {
			n, at := in.FieldPos(column)
			return nil, fmt.Errorf("line %d, column %d: %s", n, at, fault)
		}
	}
}

// withoutBOM skips the byte order mark with which spreadsheets mark UTF-8: before a quote it would be a fault.
func withoutBOM(from io.Reader) io.Reader {
	const bom = "\ufeff"
	in := bufio.NewReader(from)
	if start, _ := in.Peek(len(bom)); string(start) == bom { // the next read reports a file that is too short or unreadable
		_, _ = in.Discard(len(bom))
	}
	return in
}

func csvFault(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return fmt.Errorf("line %d, column %d: %w", p.Line, max(p.Column, 1), p.Err)
	}
	return err
}

// reader adds lines to sums. Its columns are indices in a line; -1: the map does not name the column.
type reader struct {
	m                                                  *Map
	zone                                               *time.Location
	date, account, model, kind, quantity, unit, amount int
	tokens, images                                     int
	skip                                               []int
	sums                                               map[Item]*tally
	kinds                                              map[string]string // by words of the bill
	moments                                            map[string]moment // by texts of the bill
	first, last                                        time.Time         // of the bill, also of lines that are not compared
	accounts                                           map[string]bool   // of the bill
	named                                              bool              // some line names its account
	money                                              int64             // of all lines, without signs
	left                                               [leftOuts]int     // lines that are not compared, by reason
}

// moment is a line's time, and its day as an Item has it.
type moment struct {
	at  time.Time
	day int
}

// tally is a sum that is rounded once, at the end.
type tally struct{ quantity, amount number }

// Why a line is not compared.
const (
	bySkip = iota
	byAccount
	byDay
	leftOuts
)

func newReader(m *Map, heads []string) (*reader, error) {
	var absent, has []string
	place := func(c Column) int {
		if c.Name == "" {
			return -1
		}
		i := slices.Index(heads, c.Name)
		if i < 0 {
			absent = append(absent, fmt.Sprintf("%q", c.Name))
		}
		return i
	}
	zone, err := time.LoadLocation(m.Date.Zone)
	if err != nil {
		return nil, fmt.Errorf("date.zone: %w", err)
	}
	r := &reader{
		m: m, zone: zone, date: place(m.Date.Column), account: place(m.Account.Column), model: place(m.Model), kind: place(m.Kind),
		quantity: place(m.Quantity.Column), unit: place(m.Quantity.Unit), amount: place(m.Amount), tokens: place(m.tokens),
		images: place(m.images), sums: map[Item]*tally{}, kinds: map[string]string{}, moments: map[string]moment{}, accounts: map[string]bool{},
	}
	for _, s := range m.Skip {
		r.skip = append(r.skip, place(s.Column))
	}
	if len(absent) > 0 {
		for _, head := range heads {
			has = append(has, fmt.Sprintf("%q", head))
		}
		return nil, fmt.Errorf("line 1, column 1: no column %s; the bill has %s", strings.Join(absent, ", "), strings.Join(has, ", "))
	}
	return r, nil
}

func (r *reader) end(span Span) (*Sums, error) {
	if len(r.sums) == 0 {
		return nil, fmt.Errorf("line 1, column 1: no line to compare below the heads; left out are %d by skip, %d of other accounts, %d of "+
			"days that are not compared",
			r.left[bySkip], r.left[byAccount], r.left[byDay])
	}
	leftOut, partial := r.partial(span)
	maps.DeleteFunc(r.sums, func(item Item, _ *tally) bool { return slices.Contains(leftOut, item.Day) })
	if len(r.sums) == 0 {
		return nil, fmt.Errorf(
			"line 1, column 1: the bill has only a part of its days in UTC, %s: allowed: more days, or these by --from and --to", DayTexts(leftOut))
	}
	s := &Sums{
		LeftOut: leftOut, Partial: partial, Of: make(map[Item]Sum, len(r.sums)), Counted: r.quantity >= 0 || r.tokens >= 0,
		Named: r.m.Account.Names != nil, Own: r.tokens >= 0,
	}
	for item, t := range r.sums {
		s.Of[item] = Sum{t.quantity.rounded(), t.amount.rounded()}
	}
	if r.named {
		s.Accounts = slices.Sorted(maps.Keys(r.accounts))
	}
	return s, nil
}

// partial returns the days in UTC at the ends of the bill of which it has only a part. A bill has whole days of its own
// zone, so the first one in UTC may lack its beginning, and the last one its end. leftOut are those without a bound of
// the span, which would name them.
func (r *reader) partial(span Span) (leftOut, partial []int) {
	if !r.m.Date.hasHours() {
		return nil, nil
	}
	midnight := func(t time.Time, days int) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
	}
	for _, edge := range [...]struct {
		at    time.Time
		bound int
	}{{midnight(r.first, 0), span.From}, {midnight(r.last, 1), span.To}} {
		day := price.DayOf(edge.at)
		switch whole := edge.at.Equal(edge.at.Truncate(24 * time.Hour)); { // at midnight in UTC, too
		case whole || !span.has(day):
		case edge.bound == 0:
			leftOut = append(leftOut, day)
		default:
			partial = append(partial, day)
		}
	}
	return leftOut, partial
}

// dayOf is the day in UTC of a line's time. A date without hours keeps its day, because nothing says which part of it
// is on another day in UTC.
func (r *reader) dayOf(text string) (day int, ok bool) {
	m, seen := r.moments[text]
	if !seen {
		t, err := time.ParseInLocation(r.m.Date.format(), text, r.zone)
		if err != nil {
			return 0, false
		}
		if m = (moment{t, t.Year()*10000 + int(t.Month())*100 + t.Day()}); r.m.Date.hasHours() {
			m.day = price.DayOf(t)
		}
		if len(r.moments) < mostWords {
			r.moments[strings.Clone(text)] = m
		}
	}
	if r.first.IsZero() || m.at.Before(r.first) {
		r.first = m.at
	}
	if m.at.After(r.last) {
		r.last = m.at
	}
	return m.day, true
}

func (r *reader) kindOf(line []string) string {
	if r.kind < 0 {
		return Unknown
	}
	word := line[r.kind]
	kind, seen := r.kinds[word]
	if !seen {
		kind = r.m.kindOf(word)
		if len(r.kinds) < mostWords {
			r.kinds[strings.Clone(word)] = kind
		}
	}
	return kind
}
