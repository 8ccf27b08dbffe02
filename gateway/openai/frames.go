package openai

import "iter"

// frames keeps copies of frames in one buffer.
type frames struct {
	bytes []byte
	ends  []int
}

func (f *frames) add(frame []byte) {
	f.bytes = append(f.bytes, frame...)
	f.ends = append(f.ends, len(f.bytes))
}

func (f *frames) empty() bool { return len(f.ends) == 0 }

func (f *frames) clear() { f.bytes, f.ends = f.bytes[:0], f.ends[:0] }

// all yields the frames in their order.
func (f *frames) all() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := 0
		for _, end := range f.ends {
			if !yield(f.bytes[start:end]) {
				return
			}
			start = end
		}
	}
}
