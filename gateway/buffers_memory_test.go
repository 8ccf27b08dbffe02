package gateway

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// memoryOf returns a line of this process's /proc/self/status in bytes.
func memoryOf(t *testing.T, name string) (n int64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(status), name+":")
	_, _ = fmt.Sscan(rest, &n)
	return n << 10
}

// Bodies of many sizes find few buffers to use again. They must not take much more memory than new buffers would. The figures depend
// on the collector, so they are checked with LONG=1 alone.
func TestBodiesOfManySizes(t *testing.T) {
	if os.Getenv("LONG") == "" {
		t.Skip("measures the process's memory: LONG=1")
	}
	const budget, most, clients = 64 << 20, 8 << 20, 4
	defer debug.SetGCPercent(debug.SetGCPercent(200))
	peak := func(lend func(int64) []byte, giveBack func([]byte)) int64 {
		runtime.GC()
		debug.FreeOSMemory()
		_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
		before := memoryOf(t, "VmRSS")
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(c)))
				for range 60 {
					b := lend(1<<20 + r.Int64N(most-1<<20))
					for i := 0; i < len(b); i += 4096 {
						b[i] = 1
					}
					giveBack(b)
				}
			})
		}
		all.Wait()
		return memoryOf(t, "VmHWM") - before
	}
	fresh := peak(func(n int64) []byte { return make([]byte, n) }, func([]byte) {})
	b := newBuffers(budget)
	lent := peak(b.lend, b.giveBack)
	t.Logf("%d MB above idle with new memory, %d MB with buffers", fresh>>20, lent>>20)
	if lent > fresh*2 {
		t.Errorf("buffers take %d MB, new memory %d MB", lent>>20, fresh>>20)
	}
}

// A client holds memory only for what it sent: each buffer is at most 16 times what has arrived.
func TestBuffersGrowWithTheBody(t *testing.T) {
	for _, declared := range []int64{1, 64 << 10, 1 << 20, 13 << 20, 60_000_000, 1 << 30} {
		u := upload{declared: declared}
		for size := u.nextSize(0); size < declared; {
			next := u.nextSize(size)
			if next <= size || next > 16*size || next > declared {
				t.Fatalf("of %d bytes %d arrived, the buffer is %d", declared, size, next)
			}
			size = next
		}
	}
}
