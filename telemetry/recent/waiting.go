package recent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Post is one post of a process.
type Post struct {
	From      string // the process's name
	Hours     []*Hour
	Latencies []*LatencyPart // by Number
	Lines     []Line         // in any order; may be more than are kept
	Kept      bool           // set by the store when it has the lines
}

// Hour are unposted counts of a team in an hour.
type Hour struct {
	Team    string // empty: all requests
	Begins  time.Time
	Number  int64           // ascending over the process's posts of this hour, from 1
	Minutes map[int]*Counts // by minute of the hour
	Stored  bool            // set by the store when it has the counts
}

// hourOf names an hour of a team, counted from 1970.
type hourOf struct {
	team string
	hour int64
}

// hour holds the unposted counts of an hourOf. What was sent stays unchanged until the store has it: it may have arrived, so it must be
// sent again under the same number. Meanwhile new counts go to next.
type hour struct {
	number int64
	sent   map[int]*Counts // nil: nothing was sent
	next   map[int]*Counts
}

// waiting holds the unposted counts and histograms.
type waiting struct {
	from   string
	hours  map[hourOf]*hour
	number int64 // of the last post or part

	measuring measuring
}

// add adds counts to the team's and to those of all requests.
func (w *waiting) add(of minuteOf, c *Counts) {
	w.addTo(of.team, of.minute, c)
	if of.team != "" {
		w.addTo("", of.minute, c)
	}
}

func (w *waiting) addTo(team string, minute int64, c *Counts) {
	of := hourOf{team, minute / 60}
	h := w.hours[of]
	if h == nil {
		h = new(hour)
		w.hours[of] = h
	}
	if h.next == nil {
		h.next = map[int]*Counts{}
	}
	m := int(minute % 60)
	if h.next[m] == nil {
		h.next[m] = new(Counts)
	}
	h.next[m].Add(c)
}

// post returns what is to be sent, without lines.
func (w *waiting) post() *Post {
	p := &Post{From: w.from, Hours: make([]*Hour, 0, len(w.hours))}
	w.number++
	for of, h := range w.hours {
		if h.sent == nil {
			h.number, h.sent, h.next = w.number, h.next, nil
		}
		p.Hours = append(p.Hours, &Hour{Team: of.team, Begins: of.begins(), Number: h.number, Minutes: h.sent})
	}
	slices.SortFunc(p.Hours, func(a, b *Hour) int { return cmp.Or(a.Begins.Compare(b.Begins), strings.Compare(a.Team, b.Team)) })
	p.Latencies = w.measuring.post(&w.number)
	return p
}

func (of hourOf) begins() time.Time { return time.Unix(of.hour*3600, 0).UTC() }

// posted drops what the store has.
func (w *waiting) posted(p *Post) {
	w.measuring.posted()
	for _, sent := range p.Hours {
		of := hourOf{sent.Team, sent.Begins.Unix() / 3600}
		if !sent.Stored {
			continue
		}
		if h := w.hours[of]; h.next == nil {
			delete(w.hours, of)
		} else {
			h.sent = nil
		}
	}
}

// bound drops the oldest hours until at most that many minutes of teams are left, and returns how many minutes it dropped.
func (w *waiting) bound(most int) (dropped int64) {
	size := 0
	for _, h := range w.hours {
		size += len(h.sent) + len(h.next)
	}
	if size <= most {
		return 0
	}
	oldest := slices.SortedFunc(maps.Keys(w.hours), func(a, b hourOf) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), strings.Compare(a.team, b.team))
	})
	for _, of := range oldest {
		if size <= most {
			break
		}
		n := len(w.hours[of].sent) + len(w.hours[of].next)
		size, dropped = size-n, dropped+int64(n)
		delete(w.hours, of)
	}
	return dropped
}

// blockBytes bounds the lines of a block, unless a single one is longer: about a hundred.
const blockBytes = 64 << 10

// block holds lines that are handed over, dropped and reused together. It has no pointers into its lines that the garbage collector
// would follow.
type block struct {
	text  []byte
	lines []blockLine
}

type blockLine struct {
	at  int64 // µs since 1970
	end int   // of the line in text
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

// appendTo appends the lines, oldest first, without line ends.
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

// lastLines keeps the last lines of a shard, at least most and at most a block more.
type lastLines struct {
	most   int      // lines to keep
	number int      // lines in blocks
	blocks []*block // oldest first
	spare  []*block // empty
}

// add adds a copy of a line.
func (l *lastLines) add(at time.Time, line []byte) {
	if len(l.blocks) == 0 || !l.blocks[len(l.blocks)-1].has(line) {
		l.blocks = append(l.blocks, l.takeEmpty())
	}
	l.blocks[len(l.blocks)-1].add(at, line)
	l.number++
}

// takeEmpty returns an empty block. It first drops the oldest blocks as far as the others have enough lines.
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

// empty removes and returns all blocks.
func (l *lastLines) empty() []*block {
	blocks := l.blocks
	l.blocks, l.number = nil, 0
	return blocks
}

// reuse takes back blocks that empty returned.
func (l *lastLines) reuse(blocks []*block) {
	for _, b := range blocks {
		b.clear()
	}
	l.spare = blocks
}
