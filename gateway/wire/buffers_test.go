package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The buffers against a model: no buffer is lent twice, sizes fit, and together they stay within the bound, unless more is lent.
func TestBuffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const budget, most = 4 << 20, 3 << 20
		b, now := NewBuffers(budget), time.Unix(1, 0)
		out := map[*byte][]byte{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"lend", "lend", "give", "age"}).Draw(t, "step") {
			case "lend":
				size := rapid.OneOf(rapid.Int64Range(1, 2*usualBuffer), rapid.Int64Range(1, 1<<20)).Draw(t, "size")
				buffer := b.Lend(size)
				if n := int64(len(buffer)); n < size || n > max(size+size/8, usualBuffer) {
					t.Fatalf("lent %d for %d", n, size)
				}
				if out[&buffer[0]] != nil {
					t.Fatal("a buffer was lent twice")
				}
				out[&buffer[0]] = buffer
			case "give":
				for name, buffer := range out {
					b.GiveBack(buffer)
					delete(out, name)
					break
				}
			case "age":
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*keptFor)).Draw(t, "span")))
				b.Age(now)
			}
			lent, kept := int64(0), b.bytesKept()
			for _, buffer := range out {
				if len(buffer) > smallBuffer {
					lent += int64(len(buffer))
				}
			}
			if b.total != lent+kept || b.idle != kept || kept > most/3*2 || kept > 0 && b.total > most {
				t.Fatalf("%d lent, %d kept, %d in all", lent, kept, b.total)
			}
		}
	})
}

func (b *Buffers) bytesKept() (n int64) {
	for size, s := range b.kept {
		n += size * int64(len(s.buffers))
	}
	return n
}

// A buffer is kept as long as requests need it now and then, and is dropped after that.
func TestBuffersAreDropped(t *testing.T) {
	b, now := NewBuffers(1<<30), time.Unix(1, 0)
	twoAtOnce := func() {
		one, other := b.Lend(13<<20), b.Lend(13<<20)
		b.GiveBack(one)
		b.GiveBack(other)
	}
	oneByOne := func() {
		b.GiveBack(b.Lend(13 << 20))
		b.GiveBack(b.Lend(13 << 20))
	}
	for i, tt := range []struct {
		use  func()
		want int
	}{
		{twoAtOnce, 2}, {twoAtOnce, 2}, {oneByOne, 1}, {oneByOne, 1}, {twoAtOnce, 2}, {func() {}, 0},
	} {
		tt.use()
		b.Age(now.Add(keptFor - 1))
		now = now.Add(keptFor)
		if b.Age(now); b.bytesKept() != int64(tt.want)*rounded(13<<20) {
			t.Errorf("round %d: %d bytes are kept, want %d buffers", i, b.bytesKept(), tt.want)
		}
	}
}

func TestRounded(t *testing.T) {
	for size, want := range map[int64]int64{1: 1, 16: 16, 17: 18, 1 << 20: 1 << 20, 1<<20 + 1: 9 << 17, 13<<20 + 200: 14 << 20,
		64<<20 + 1: 72 << 20} {
		if got := rounded(size); got != want {
			t.Errorf("%d is rounded to %d, want %d", size, got, want)
		}
	}
}

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

// Bodies of many sizes find few buffers to use again. They must not take much more memory than new buffers would. The figures
// depend on the collector, so they are checked only with LONG=1.
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
	b := NewBuffers(budget)
	lent := peak(b.Lend, b.GiveBack)
	t.Logf("%d MB above idle with new memory, %d MB with buffers", fresh>>20, lent>>20)
	if lent > fresh*2 {
		t.Errorf("buffers take %d MB, new memory %d MB", lent>>20, fresh>>20)
	}
}

// The kept part of an answer is bounded while it arrives; an answer that is too long is not kept at all.
func TestNothingIsKeptOfTooMuch(t *testing.T) {
	var kept Kept
	piece := bytes.Repeat([]byte("x"), 32<<10)
	for n := range 400 << 20 / len(piece) {
		kept.Keep(piece)
		if fits := (n+1)*len(piece) <= mostKept; fits == kept.Over || cap(kept.Bytes) > 2*mostKept || !fits && kept.Bytes != nil {
			t.Fatalf("%d bytes are kept of %d", cap(kept.Bytes), (n+1)*len(piece))
		}
	}
}
