package gateway

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The buffers against a model: no buffer is lent twice, sizes fit, and together they stay within the bound, unless more is lent.
func TestBuffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const budget, most = 4 << 20, 3 << 20
		b, now := newBuffers(budget), time.Unix(1, 0)
		out := map[*byte][]byte{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"lend", "lend", "give", "age"}).Draw(t, "step") {
			case "lend":
				size := rapid.OneOf(rapid.Int64Range(1, 2*usualBuffer), rapid.Int64Range(1, 1<<20)).Draw(t, "size")
				buffer := b.lend(size)
				if n := int64(len(buffer)); n < size || n > max(size+size/8, usualBuffer) {
					t.Fatalf("lent %d for %d", n, size)
				}
				if out[&buffer[0]] != nil {
					t.Fatal("a buffer was lent twice")
				}
				out[&buffer[0]] = buffer
			case "give":
				for name, buffer := range out {
					b.giveBack(buffer)
					delete(out, name)
					break
				}
			case "age":
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*keptFor)).Draw(t, "span")))
				b.age(now)
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

func (b *buffers) bytesKept() (n int64) {
	for size, s := range b.kept {
		n += size * int64(len(s.buffers))
	}
	return n
}

// A buffer is kept as long as requests need it now and then, and is dropped after that.
func TestBuffersAreDropped(t *testing.T) {
	b, now := newBuffers(1<<30), time.Unix(1, 0)
	twoAtOnce := func() {
		one, other := b.lend(13<<20), b.lend(13<<20)
		b.giveBack(one)
		b.giveBack(other)
	}
	oneByOne := func() {
		b.giveBack(b.lend(13 << 20))
		b.giveBack(b.lend(13 << 20))
	}
	for i, tt := range []struct {
		use  func()
		want int
	}{
		{twoAtOnce, 2}, {twoAtOnce, 2}, {oneByOne, 1}, {oneByOne, 1}, {twoAtOnce, 2}, {func() {}, 0},
	} {
		tt.use()
		b.age(now.Add(keptFor - 1))
		now = now.Add(keptFor)
		if b.age(now); b.bytesKept() != int64(tt.want)*rounded(13<<20) {
			t.Errorf("round %d: %d bytes are kept, want %d buffers", i, b.bytesKept(), tt.want)
		}
	}
}

func TestRounded(t *testing.T) {
	for size, want := range map[int64]int64{1: 1, 16: 16, 17: 18, 1 << 20: 1 << 20, 1<<20 + 1: 9 << 17, 13<<20 + 200: 14 << 20, 64<<20 + 1: 72 << 20} {
		if got := rounded(size); got != want {
			t.Errorf("%d is rounded to %d, want %d", size, got, want)
		}
	}
}
