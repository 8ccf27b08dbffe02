package latency

import (
	"encoding/binary"
	"errors"
)

// A histogram is packed as a MessagePack array of integers: the index of the first bucket with a count, and the counts from there to
// the last one. Redis's scripts add such arrays up.

// Pack appends the packed histogram; an empty histogram is an empty array.
func (h *Histogram) Pack(b []byte) []byte {
	first, last := buckets, -1
	for i, n := range h.counts {
		if n > 0 {
			first, last = min(first, i), i
		}
	}
	if last < 0 {
		return append(b, markList)
	}
	b = appendLength(b, last-first+2)
	b = appendNumber(b, uint32(first))
	for _, n := range h.counts[first : last+1] {
		b = appendNumber(b, n)
	}
	return b
}

// The type bytes of MessagePack that occur.
const (
	markList   = 0x90 // the low 4 bits are the length
	markList16 = 0xdc
	mark8      = 0xcc
	mark16     = 0xcd
	mark32     = 0xce
	mark64     = 0xcf
)

func appendLength(b []byte, n int) []byte {
	if n < 16 {
		return append(b, markList|byte(n))
	}
	return binary.BigEndian.AppendUint16(append(b, markList16), uint16(n))
}

func appendNumber(b []byte, n uint32) []byte {
	switch {
	case n < 0x80:
		return append(b, byte(n))
	case n < 1<<8:
		return append(b, mark8, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, mark16), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, mark32), n)
}

var errPacked = errors.New("this is not a packed histogram")

// packed is the unread rest of packed histograms.
type packed []byte

func (p *packed) take(n int) ([]byte, error) {
	if len(*p) < n {
		return nil, errPacked
	}
	taken := (*p)[:n]
	*p = (*p)[n:]
	return taken, nil
}

func (p *packed) length() (int, error) {
	mark, err := p.take(1)
	switch {
	case err != nil:
		return 0, err
	case mark[0]&0xf0 == markList:
		return int(mark[0] & 0x0f), nil
	case mark[0] != markList16:
		return 0, errPacked
	}
	n, err := p.take(2)
	if err != nil {
		return 0, err
	}
	return int(binary.BigEndian.Uint16(n)), nil
}

func (p *packed) number() (uint64, error) {
	mark, err := p.take(1)
	switch {
	case err != nil:
		return 0, err
	case mark[0] < 0x80:
		return uint64(mark[0]), nil
	}
	size := map[byte]int{mark8: 1, mark16: 2, mark32: 4, mark64: 8}[mark[0]]
	text, err := p.take(size)
	if err != nil || size == 0 {
		return 0, errPacked
	}
	var wide [8]byte
	copy(wide[8-size:], text)
	return binary.BigEndian.Uint64(wide[:]), nil
}

// unpack adds the packed histogram at the front of p, and advances p past it.
func (h *Histogram) unpack(p *packed) error {
	n, err := p.length()
	if err != nil || n == 0 {
		return err
	}
	first, err := p.number()
	if err != nil || first+uint64(n) > buckets+1 {
		return errPacked
	}
	for i := range n - 1 {
		count, err := p.number()
		if err != nil {
			return err
		}
		h.counts[int(first)+i] += uint32(min(count, 1<<32-1))
	}
	return nil
}

// Unpack adds a histogram that [Histogram.Pack] wrote. After an error the counts are undefined.
func (h *Histogram) Unpack(text []byte) error {
	p := packed(text)
	if err := h.unpack(&p); err != nil || len(p) > 0 {
		return errPacked
	}
	return nil
}

// Series reads an array of packed histograms: the steps of an hour.
func Series(text []byte) (list []Histogram, err error) {
	p := packed(text)
	n, err := p.length()
	if err != nil {
		return nil, err
	}
	list = make([]Histogram, min(n, 60))
	for i := range list {
		if err := list[i].unpack(&p); err != nil {
			return nil, err
		}
	}
	if len(p) > 0 {
		return nil, errPacked
	}
	return list, nil
}
