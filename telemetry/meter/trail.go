package meter

import "bytes"

const (
	trailSteps = 8
	trailBytes = 512
)

// pace is how the scanner stands to its trail.
type pace uint8

const (
	offTrail   pace = iota // it walks byte by byte
	atStep                 // it is where the next step begins
	learning               // it walks byte by byte and notes the way as the next step
	atVariable             // it is in a value between two steps
)

// trail remembers how the frames of a stream look between the values that differ from frame to frame, the texts and the
// numbers of the usage. Frames of one stream are alike but for these, so a step that is met again, byte by byte at the
// same place of the frame, leads where it led before, and need not be walked: this makes a usual frame cost less than
// half.
//
// To skip a step must lose nothing. What it does to the scanner is in the step. What it does to the answer either only
// ever grows, and grew when the step was learnt; or sets what a later frame may set differently (a change of mind, after
// which older steps are not trusted); or is for this one frame, and then the step is not learnt.
type trail struct {
	steps [trailSteps]step
	known int // steps
	next  int // the step to try or to learn
	bytes [trailBytes]byte
}

// step is the way from one variable value to the next.
type step struct {
	start, end uint16 // in bytes
	minds      uint32 // changes of mind when it was learnt
	after      scanner
}

// onTrail moves along the trail, or learns it, at the byte p[i]; the step being learnt begins at p[from]. It returns
// both for the next byte.
func (m *Meter) onTrail(p []byte, i, from int) (int, int) {
	if m.pace == atStep {
		if n := m.follow(p[i:]); n > 0 {
			return i + n, from
		}
		m.pace, m.trail.known, from = learning, m.trail.next, i
	}
	if m.pace != learning {
		return i, from
	}
	switch c := p[i]; {
	case m.state == atEnd, m.state == atValue && m.place == placeNumber && c >= '0' && c <= '9':
		m.learn(p[from:i])
	case m.state == atValue && c == '"':
		if _, ok := m.place.prose(); ok {
			m.beginToken(inString)
			i++
			m.learn(p[from:i])
		}
	}
	return i, from
}

// follow takes the next step if p begins with it, and returns its length.
func (m *Meter) follow(p []byte) int {
	t := m.trail
	if t.next == t.known {
		return 0
	}
	s := &t.steps[t.next]
	if s.minds != m.minds || !bytes.HasPrefix(p, t.bytes[s.start:s.end]) {
		return 0
	}
	t.next++
	m.scanner = s.after
	m.token, m.pace = m.token[:0], atVariable
	return int(s.end - s.start)
}

// learn notes the way to where the scanner stands now.
func (m *Meter) learn(way []byte) {
	t, start := m.trail, 0
	if t.next > 0 {
		start = int(t.steps[t.next-1].end)
	}
	if t.next == trailSteps || start+len(way) > trailBytes {
		m.pace = offTrail
		return
	}
	copy(t.bytes[start:], way)
	t.steps[t.next] = step{uint16(start), uint16(start + len(way)), m.minds, m.scanner}
	t.next++
	t.known = t.next
	m.pace = atVariable
}

// leaveTrail is called where the way does something for this frame alone, which to skip would be to lose.
func (m *Meter) leaveTrail() { m.pace = offTrail }

// restPiece is called where a piece of the document ends: a step is learnt from one piece or not at all.
func (m *Meter) restPiece(p []byte, from int) {
	if m.pace != learning {
		return
	}
	if m.state == atEnd {
		m.learn(p[from:])
	}
	m.pace = offTrail
}

// startTrail is called before every frame but the first: an answer of one frame needs none.
func (m *Meter) startTrail() {
	if m.trail == nil {
		m.trail = new(trail)
	}
	m.trail.next = 0
	m.pace = atStep
}
