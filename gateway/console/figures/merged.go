package figures

import (
	"hash/maphash"
	"sync"
)

// merged keeps what sums of past days came to, by their texts: the same days are asked for again, and seldom change. The zero value has
// nothing. It is safe for concurrent use.
type merged struct {
	mu   sync.Mutex
	rows map[uint64][]Row
}

const (
	mostMerged     = 16
	mostMergedRows = 10_000 // of one
)

var mergedSeed = maphash.MakeSeed()

// add is [book.addSums] of the past.
func (m *merged) add(to *adder, b *book, days, spans []int, by string) {
	if to.days != nil { // spend by day is asked for
		b.addSums(to, days, spans, by)
		return
	}
	var texts maphash.Hash
	texts.SetSeed(mergedSeed)
	for _, of := range spans {
		_, _ = texts.WriteString(b.sums[DayBy{of, by}].rows)
	}
	of := texts.Sum64()
	m.mu.Lock()
	rows, found := m.rows[of]
	m.mu.Unlock()
	if !found {
		var all adder
		b.addSums(&all, days, spans, by)
		rows = all.rows
		m.keep(of, rows)
	}
	for i := range rows {
		to.add(rows[i].Name, &rows[i].Use)
	}
}

// keep keeps rows, unless they are many. If it has too many, it begins anew.
func (m *merged) keep(of uint64, rows []Row) {
	if len(rows) > mostMergedRows {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil || len(m.rows) >= mostMerged {
		m.rows = map[uint64][]Row{}
	}
	m.rows[of] = rows
}
