package recent

import (
	"slices"
	"strings"
	"time"
)

// blockBytes is how long the lines of a block are together, unless a single one is longer: about a hundred.
const blockBytes = 64 << 10

// block has some lines, so that many are handed over, dropped, and their memory used again at once. It has no pointers for the
// collector to follow.
type block struct {
	text  []byte
	lines []blockLine
}

type blockLine struct {
	at  int64 // µs from 1970
	end int   // in text
}

func newBlock() *block { return &block{text: make([]byte, 0, blockBytes)} }

// has reports whether there is room for a line.
func (b *block) has(line []byte) bool {
	return len(b.text) == 0 || len(b.text)+len(line) <= cap(b.text)
}

func (b *block) add(at time.Time, line []byte) {
	b.text = append(b.text, line...)
	b.lines = append(b.lines, blockLine{at.UnixMicro(), len(b.text)})
}

// appendTo appends the lines, oldest first, without their line ends.
func (b *block) appendTo(lines []Line) []Line {
	text, begin := string(b.text), 0
	for _, line := range b.lines {
		l := Line{At: time.UnixMicro(line.at).UTC(), Text: strings.TrimSuffix(text[begin:line.end], "\n")}
		l.owner = l.team()
		lines = append(lines, l)
		begin = line.end
	}
	return lines
}

func (b *block) clear() { b.text, b.lines = b.text[:0], b.lines[:0] }

// lastLines keeps the last lines of a shard, and a block's more at most.
type lastLines struct {
	most   int      // how many to keep
	number int      // how many there are
	blocks []*block // oldest first
	spare  []*block // empty
}

// add keeps a line, which it copies.
func (l *lastLines) add(at time.Time, line []byte) {
	if len(l.blocks) == 0 || !l.blocks[len(l.blocks)-1].has(line) {
		l.blocks = append(l.blocks, l.takeEmpty())
	}
	l.blocks[len(l.blocks)-1].add(at, line)
	l.number++
}

// takeEmpty drops the oldest blocks if the lines of the others are enough, and takes an empty one.
func (l *lastLines) takeEmpty() (b *block) {
	for len(l.blocks) > 0 && l.number-len(l.blocks[0].lines) >= l.most {
		b = l.blocks[0]
		l.blocks = slices.Delete(l.blocks, 0, 1)
		l.number -= len(b.lines)
		b.clear()
		l.spare = append(l.spare, b)
	}
	if last := len(l.spare) - 1; last >= 0 {
		b, l.spare = l.spare[last], l.spare[:last]
		return b
	}
	return newBlock()
}

// empty hands over all blocks.
func (l *lastLines) empty() []*block {
	blocks := l.blocks
	l.blocks, l.number = nil, 0
	return blocks
}

// reuse takes the memory of blocks that were handed over.
func (l *lastLines) reuse(blocks []*block) {
	for _, b := range blocks {
		b.clear()
	}
	l.spare = blocks
}
