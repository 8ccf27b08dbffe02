package figures

import (
	"hash/maphash"
	"sync"
)

// merged caches the totals of several days' sums, by a hash of their texts: the same days are often read again, and seldom change. The
// zero value is empty. It is safe for concurrent use.
type merged struct {
	mu   sync.Mutex
	rows map[uint64][]Row
}

const (
	mostMerged     = 16
	mostMergedRows = 10_000 // of one total
)

var mergedSeed = maphash.MakeSeed()

// add is a cached [book.addSums].
func (m *merged) add(to *adder, b *book, days, spans []int, by string) {
	if to.days != nil { // the cache has no spend by day
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

// keep caches rows, unless they are too many. If the cache is full, it is emptied first.
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
