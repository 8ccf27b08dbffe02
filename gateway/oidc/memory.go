package oidc

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxRemembered is how many verified tokens are remembered, at least half of them the newest.
const maxRemembered = 10_000

// memory remembers verified tokens by their SHA-256. The zero memory is empty; a nil one stays so.
type memory struct {
	mu         sync.RWMutex
	young, old map[[sha256.Size]byte]known // old is dropped when young is full
}

type known struct {
	Workload
	until time.Time
}

func (m *memory) get(sum [sha256.Size]byte, now time.Time) (Workload, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	k, ok := m.young[sum]
	if !ok {
		k, ok = m.old[sum]
	}
	return k.Workload, ok && now.Before(k.until)
}

func (m *memory) put(sum [sha256.Size]byte, w Workload, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young == nil || len(m.young) >= maxRemembered/2 {
		m.young, m.old = map[[sha256.Size]byte]known{}, m.young
	}
	m.young[sum] = known{w, until}
}
