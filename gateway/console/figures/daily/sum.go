package daily

import (
	"encoding/binary"
	"errors"
	"iter"
	"time"

	"sluice/policy/limit"
)

// By is what a sum tells apart.
type By string

// The ways to add up a day. Each has all that was used, except that use without a tag is in no row of ByTag.
const (
	ByTeam     By = "team"
	ByModel    By = "model"
	ByEndpoint By = "endpoint"
	ByTag      By = "tag"
)

// All are the ways to add up.
var All = []By{ByTeam, ByModel, ByEndpoint, ByTag}

// Row is what was used under one name.
type Row struct {
	Name            string
	Used, Estimated limit.Amounts
}

// Sum is what was used on one day.
type Sum struct {
	Version uint64    // of the day's ledger, of which the sum is
	Made    time.Time // to the second
	Whole   bool      // false: there were too many names for a sum
	rows    string    // a name and eight amounts, again and again
}

// NewSum returns a sum of rows; nil: there were too many.
func NewSum(version uint64, made time.Time, rows []Row, whole bool) Sum {
	var b []byte
	for i := range rows {
		b = binary.AppendUvarint(b, uint64(len(rows[i].Name)))
		b = append(b, rows[i].Name...)
		for _, amounts := range [2]*limit.Amounts{&rows[i].Used, &rows[i].Estimated} {
			for _, n := range amounts {
				b = binary.AppendVarint(b, n)
			}
		}
	}
	return Sum{version, made.Truncate(time.Second), whole, string(b)}
}

// Rows goes through the rows.
func (s *Sum) Rows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		var row Row
		for rest := s.rows; rest != ""; {
			var length uint64
			length, rest = uvarint(rest)
			row.Name, rest = rest[:length], rest[length:]
			for i := range row.Used {
				row.Used[i], rest = varint(rest)
			}
			for i := range row.Estimated {
				row.Estimated[i], rest = varint(rest)
			}
			if !yield(&row) {
				return
			}
		}
	}
}

// uvarint reads a number of those that [binary.AppendUvarint] writes.
func uvarint(text string) (n uint64, rest string) {
	for i := range len(text) {
		if n |= uint64(text[i]&0x7f) << (7 * i); text[i] < 0x80 {
			return n, text[i+1:]
		}
	}
	return 0, ""
}

func varint(text string) (n int64, rest string) {
	u, rest := uvarint(text)
	return int64(u>>1) ^ -int64(u&1), rest
}

// form is the first byte of a sum's text.
const form = 1

var errForm = errors.New("not a sum of a day, or one of another version of Sluice")

// text is the sum as Redis keeps it.
func (s *Sum) text() string {
	b := []byte{form, 0}
	if s.Whole {
		b[1] = 1
	}
	b = binary.BigEndian.AppendUint64(b, s.Version)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Made.Unix()))
	return string(b) + s.rows
}

// readSum reads a sum's text. It looks at all rows, so that [Sum.Rows] need not.
func readSum(text string) (s Sum, err error) {
	const head = 18
	if len(text) < head || text[0] != form {
		return s, errForm
	}
	s = Sum{
		Version: binary.BigEndian.Uint64([]byte(text[2:10])), Made: time.Unix(int64(binary.BigEndian.Uint64([]byte(text[10:head]))), 0).UTC(),
		Whole: text[1] == 1, rows: text[head:],
	}
	if !sound(s.rows) {
		return Sum{}, errForm
	}
	return s, nil
}

// sound reports whether a text consists of rows.
func sound(text string) bool {
	for text != "" {
		length, rest := uvarint(text)
		if rest == "" || length > uint64(len(rest)) {
			return false
		}
		text = rest[length:]
		for range 2 * len(limit.Amounts{}) {
			at := 0
			for at < len(text) && at < binary.MaxVarintLen64 && text[at] >= 0x80 {
				at++
			}
			if at == len(text) || text[at] >= 0x80 {
				return false
			}
			text = text[at+1:]
		}
	}
	return true
}
