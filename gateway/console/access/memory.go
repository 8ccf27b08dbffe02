package access

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] in the process. It is safe for concurrent use.
type Memory struct {
	now func() time.Time

	mu    sync.Mutex
	kinds map[string]map[string]*entry
	made  int // entries so far
}

type entry struct {
	value []byte
	count int
	made  int // its number, to find the oldest
	ends  time.Time
}

// NewMemory returns an empty store.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, kinds: make(map[string]map[string]*entry)}
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, kind, name string, value []byte, life time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(kind, name, 1, life).value = bytes.Clone(value)
	return nil
}

// Get implements [Store].
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

// Swap implements [Store].
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

// Take implements [Store].
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

// List implements [Store].
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

// Count implements [Store]. It is not a rate.Limiter, because it must count as Redis does: callers need the number.
func (m *Memory) Count(_ context.Context, name string, window time.Duration) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.find(kindCount, name)
	if e == nil {
		e = m.add(kindCount, name, most/4, window) // evicts many at once, so seldom
	}
	e.count++
	return e.count, nil
}

// add adds an empty entry. If the kind is full, it first makes room for so many.
func (m *Memory) add(kind, name string, room int, life time.Duration) *entry {
	all := m.kinds[kind]
	if all == nil {
		all = make(map[string]*entry)
		m.kinds[kind] = all
	}
	if all[name] == nil && len(all) >= most {
		m.drop(all, room)
	}
	m.made++
	all[name] = &entry{made: m.made, ends: m.now().Add(life)}
	return all[name]
}

// drop makes room: it evicts expired entries, or if there are none the oldest.
func (m *Memory) drop(all map[string]*entry, room int) {
	var names []string
	for name, e := range all {
		if m.now().Before(e.ends) {
			names = append(names, name)
		} else {
			delete(all, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(all[a].made, all[b].made) })
	if len(names) < most {
		return
	}
	for _, name := range names[:room] {
		delete(all, name)
	}
}

// find returns an entry that has not expired. The caller holds the lock.
func (m *Memory) find(kind, name string) *entry {
	e := m.kinds[kind][name]
	if e == nil || !m.now().Before(e.ends) {
		return nil
	}
	return e
}
