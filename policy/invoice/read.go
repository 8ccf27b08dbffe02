package invoice

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Item is what a sum is of.
type Item struct {
	Day   int // in UTC, as 20261121
	Model string
	Kind  string // a name of price.Table, or Unknown
}

// Sum is what was charged for an item.
type Sum struct {
	Quantity int64 // tokens or pictures
	Amount   int64 // in the smallest amount of the currency
}

// Span is the part of a bill that is compared: days, both included, as 20261121, and an account at the service. A zero is no bound.
type Span struct {
	From, To int
	Account  string // a bill without a column of accounts is for it alone
}

// Sums is a bill, added up.
type Sums struct {
	Of       map[Item]Sum
	Counted  bool     // the bill has quantities
	Accounts []string // that it is for, in order, the first hundred; nil if none is named
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

// Bounds of what is kept of a bill's words, and of a sum.
const (
	mostWords    = 10_000
	mostAccounts = 100
	mostSum      = unit.Most << 8
)

// Read adds up a bill. A fault of the bill says "line N, column M".
func Read(from io.Reader, m *Map, span Span) (*Sums, error) {
	in := csv.NewReader(from)
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
			return r.end(), nil
		case err != nil:
			return nil, csvFault(err)
		}
		if fault, column := r.add(line, span); fault != "" {
			n, at := in.FieldPos(column)
			return nil, fmt.Errorf("line %d, column %d: %s", n, at, fault)
		}
	}
}

func csvFault(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return fmt.Errorf("line %d, column %d: %w", p.Line, max(p.Column, 1), p.Err)
	}
	return err
}

// reader adds lines to sums. Its columns are places in a line, -1 for a column that the map does not name.
type reader struct {
	m                                                  *Map
	zone                                               *time.Location
	date, account, model, kind, quantity, unit, amount int
	skip                                               []int
	sums                                               map[Item]Sum
	kinds                                              map[string]string // of words of the bill that were seen
	days                                               map[string]int    // likewise
	accounts                                           map[string]bool   // likewise
	named                                              bool              // some line names its account
}

func newReader(m *Map, head []string) (*reader, error) {
	heads := slices.Clone(head)
	heads[0] = strings.TrimPrefix(heads[0], "\ufeff")
	var absent []string
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
		quantity: place(m.Quantity.Column), unit: place(m.Quantity.Unit), amount: place(m.Amount),
		sums: map[Item]Sum{}, kinds: map[string]string{}, days: map[string]int{}, accounts: map[string]bool{},
	}
	for _, s := range m.Skip {
		r.skip = append(r.skip, place(s.Column))
	}
	if len(absent) > 0 {
		return nil, fmt.Errorf("line 1, column 1: no column %s; the bill has %s", strings.Join(absent, ", "), strings.Join(heads, ", "))
	}
	return r, nil
}

func (r *reader) end() *Sums {
	s := &Sums{Of: r.sums, Counted: r.quantity >= 0}
	if r.named {
		s.Accounts = slices.Sorted(maps.Keys(r.accounts))
	}
	return s
}

// add adds a line. It returns its fault and the place of the faulty column, "" if there is none.
func (r *reader) add(line []string, span Span) (fault string, column int) {
	for i, s := range r.m.Skip {
		if s.Pattern.Match(line[r.skip[i]]) {
			return "", 0
		}
	}
	if r.account >= 0 && span.Account != "" && r.m.Account.of(line[r.account]) != span.Account {
		return "", 0
	}
	day, ok := r.dayOf(line[r.date])
	if !ok {
		return fmt.Sprintf("given %q; allowed: a date as %s", line[r.date], r.m.Date.format()), r.date
	}
	if day < span.From || span.To != 0 && day > span.To {
		return "", 0
	}
	sum := Sum{}
	if sum.Amount, ok = decimal(line[r.amount], 1, unit.Table[limit.Spend].Decimals); !ok {
		return fmt.Sprintf("given %q; allowed: an amount of money", line[r.amount]), r.amount
	}
	if r.quantity >= 0 && line[r.quantity] != "" {
		if sum.Quantity, fault, column = r.quantityOf(line); fault != "" {
			return fault, column
		}
	}
	if r.account >= 0 {
		r.noteAccount(line[r.account])
	}
	if !r.addSum(Item{Day: day, Model: line[r.model], Kind: r.kindOf(line)}, sum) {
		return "the sum of its model and kind on that day is beyond what can be counted", r.amount
	}
	return "", 0
}

// noteAccount notes the account of a line, which is main's without a word.
func (r *reader) noteAccount(word string) {
	r.named = r.named || word != ""
	if word = limit.AccountName(word); !r.accounts[word] && len(r.accounts) < mostAccounts {
		r.accounts[strings.Clone(word)] = true
	}
}

// quantityOf is a line's quantity in tokens or pictures.
func (r *reader) quantityOf(line []string) (n int64, fault string, column int) {
	factor := int64(1)
	if r.unit >= 0 {
		of, known := r.m.Units[line[r.unit]]
		if !known {
			return 0, fmt.Sprintf("the map's units lack %q", line[r.unit]), r.unit
		}
		factor = of
	}
	n, ok := decimal(line[r.quantity], factor, 0)
	if !ok {
		return 0, fmt.Sprintf("given %q; allowed: a quantity", line[r.quantity]), r.quantity
	}
	return n, "", 0
}

// addSum reports whether the sum can be counted.
func (r *reader) addSum(item Item, sum Sum) bool {
	before, seen := r.sums[item]
	if !seen {
		item.Model = strings.Clone(item.Model) // the line's memory is used again
	}
	sum = plus(before, sum)
	r.sums[item] = sum
	return max(sum.Amount, -sum.Amount, sum.Quantity, -sum.Quantity) <= mostSum
}

func (d *Date) format() string {
	if d.Format == "" {
		return time.DateOnly
	}
	return d.Format
}

// dayOf is the day in UTC of a line's time. A date without hours keeps its day: nothing says which part of it is of another day in UTC.
func (r *reader) dayOf(text string) (day int, ok bool) {
	if day, seen := r.days[text]; seen {
		return day, true
	}
	t, err := time.ParseInLocation(r.m.Date.format(), text, r.zone)
	if err != nil {
		return 0, false
	}
	if hours := strings.ContainsAny(strings.ReplaceAll(r.m.Date.format(), "2006", ""), "35"); hours { // 15, 3, 03; minutes are 04
		t = t.UTC()
	}
	day = t.Year()*10000 + int(t.Month())*100 + t.Day()
	if len(r.days) < mostWords {
		r.days[strings.Clone(text)] = day
	}
	return day, true
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
