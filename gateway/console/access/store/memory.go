package store

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory keeps everything in the process. It is safe for concurrent use.
type Memory struct {
	now func() time.Time

	mu     sync.Mutex
	kinds  map[string]map[string]*entry
	made   int // entries so far
	counts map[string]count
}

type entry struct {
	value []byte
	made  int // its number, to find the oldest
	ends  time.Time
}

type count struct {
	n    int
	ends time.Time
}

// NewMemory returns an empty store.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, kinds: make(map[string]map[string]*entry), counts: make(map[string]count)}
}

// Put implements [access.Store].
func (m *Memory) Put(_ context.Context, kind, name string, value []byte, life time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.kinds[kind]
	if all == nil {
		all = make(map[string]*entry)
		m.kinds[kind] = all
	}
	if all[name] == nil && len(all) >= most {
		m.drop(all)
	}
	m.made++
	all[name] = &entry{bytes.Clone(value), m.made, m.now().Add(life)}
	return nil
}

// Get implements [access.Store].
func (m *Memory) Get(_ context.Context, kind, name string, renew time.Duration) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.find(kind, name)
	if e == nil {
		return nil, nil
	}
	if renew > 0 {
		e.ends = m.now().Add(renew)
	}
	return bytes.Clone(e.value), nil
}

// Swap implements [access.Store].
func (m *Memory) Swap(_ context.Context, kind, name string, value []byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.find(kind, name)
	if e == nil {
		return false, nil
	}
	e.value = bytes.Clone(value)
	return true, nil
}

// Take implements [access.Store].
func (m *Memory) Take(_ context.Context, kind, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.find(kind, name)
	delete(m.kinds[kind], name)
	if e == nil {
		return nil, nil
	}
	return e.value, nil
}

// List implements [access.Store].
func (m *Memory) List(_ context.Context, kind string) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*entry
	for name := range m.kinds[kind] {
		if e := m.find(kind, name); e != nil {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return b.made - a.made })
	values := make([][]byte, len(all))
	for i, e := range all {
		values[i] = bytes.Clone(e.value)
	}
	return values, nil
}

// Count implements [access.Store].
func (m *Memory) Count(_ context.Context, name string, by int, window time.Duration) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts[name]
	if !m.now().Before(c.ends) {
		c = count{}
	}
	if by == 0 || c.n+by < 0 {
		return c.n, nil
	}
	if c.n == 0 {
		c.ends = m.now().Add(window)
	}
	c.n += by
	m.bound(name)
	m.counts[name] = c
	return c.n, nil
}

// drop makes room for one more entry: of those that have ended, else of the oldest.
func (m *Memory) drop(all map[string]*entry) {
	oldest := ""
	for name, e := range all {
		if !m.now().Before(e.ends) {
			delete(all, name)
		} else if oldest == "" || e.made < all[oldest].made {
			oldest = name
		}
	}
	if len(all) >= most {
		delete(all, oldest)
	}
}

// find returns what has not ended. The caller holds the lock.
func (m *Memory) find(kind, name string) *entry {
	e := m.kinds[kind][name]
	if e == nil || !m.now().Before(e.ends) {
		return nil
	}
	return e
}

// bound makes room for one more count: of those that have ended, else of the quarter that ends first, so that it rarely has to.
func (m *Memory) bound(name string) {
	if _, known := m.counts[name]; known || len(m.counts) < most {
		return
	}
	var names []string
	for other, c := range m.counts {
		if !m.now().Before(c.ends) {
			delete(m.counts, other)
		} else {
			names = append(names, other)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return m.counts[a].ends.Compare(m.counts[b].ends) })
	for _, other := range names[:max(0, len(names)-most*3/4)] {
		delete(m.counts, other)
	}
}
