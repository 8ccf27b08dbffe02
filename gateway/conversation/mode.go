package conversation

import (
	"bytes"
	"unicode/utf8"

	"sluice/gateway/rawjson"
)

// frameMode decides whether the frames of a stream are increments, or cumulative: each repeats the whole text so far. Sluice asks
// the service for increments, some models still send cumulative frames, and frames are not marked.
//
// A frame that does not begin with the text of the frame before proves increments; usually that is the second frame. A frame that
// does begin with it may be either: "1" and then "12". Such frames are held until a later one decides, or the stream ends. Pieces
// of a text may extend each other by chance, as in "ha", "haha", "hahaha", but not over many bytes: enough frames that extend the
// one before, by repeating enough bytes of it, prove cumulative frames. The proof holds for all texts of the stream.
//
// A decoder writes U+FFFD for a character of which it has only a part, and a cumulative frame then spells the end of the text before
// anew. So such an end proves nothing.
type frameMode struct {
	decided    bool
	cumulative bool
	grown      int  // frames that extended the one before
	agreed     int  // bytes of the ones before that they began with
	repeated   bool // a frame was equal to the one before and had no other news
	revised    bool // a frame was another text than the one before, which had only half a character
}

const (
	grownEnough  = 2  // frames that must extend the one before to prove cumulative frames
	agreedEnough = 48 // bytes that they must have begun with
)

const (
	// MostHeld is how many frames may be held.
	MostHeld = 64
	// mostHeldBytes is how many bytes they may have. Frames that prove nothing are short: a longer text proves its mode within a few.
	mostHeldBytes = 256 << 10
)

// classify looks at the frame in s.answer, which has size bytes, and reports whether it can be translated now. If so, the held frames can,
// too.
func (m *frameMode) classify(s *Stream, size int) bool {
	if m.decided {
		return true
	}
	var c comparison
	for i := range s.answer.Choices {
		c.compare(s, &s.answer.Choices[i])
	}
	switch {
	case c.differs:
		m.decided = true
	case c.agrees > 0:
		m.grown++
		if m.agreed += c.agrees; m.grown >= grownEnough && m.agreed >= agreedEnough {
			m.decided, m.cumulative = true, true
		}
	case c.repeats:
		m.repeated = m.repeated || !c.news
	case c.revises:
		m.revised = true
	case len(s.held) == 0:
		return true
	}
	switch {
	case len(s.held) == MostHeld: // a text that grows would have proved it by now
		m.decided = true
	case s.heldBytes+size > mostHeldBytes:
		m.decide()
	}
	return m.decided
}

// decide chooses the likelier mode without proof. A frame that equals the one before is the last of a cumulative stream if it has the
// finish_reason, and otherwise a repeated token. Of half a character and another text, nothing is lost if both are pieces.
func (m *frameMode) decide() {
	if !m.decided {
		m.decided, m.cumulative = true, m.grown > 0 || !m.repeated && !m.revised
	}
}

// comparison compares the texts of a frame with those of the frame before.
type comparison struct {
	differs, repeats bool // some text does
	revises          bool // some text before was only half a character
	agrees           int  // bytes of the texts before that longer texts begin with
	news             bool // the frame has a text or a tool call that no frame before had, or a finish_reason
}

func (c *comparison) compare(s *Stream, now *Choice) {
	before := s.progress(now.Index)
	c.compareText(&before.content, now.Text)
	c.compareText(&before.reasoning, now.Thinking)
	position, known := 0, len(before.calls)
	single := rawjson.Length(now.calls) == 1
	for r := rawjson.Array(now.calls); r.Element(); position++ {
		call := readCall(r.Value(), position)
		call.single = single
		c.compareText(&before.call(&call, &before.compared).arguments, call.Arguments)
	}
	c.news = c.news || now.Finish != nil || len(before.calls) > known
}

func (c *comparison) compareText(before *textProgress, now []byte) {
	if len(now) == 0 {
		return
	}
	last := before.last
	if !bytes.HasPrefix(now, last) {
		last = last[:wholeEnd(last)]
	}
	switch {
	case len(before.last) == 0:
		c.news = true
	case len(last) == 0:
		c.revises = true
	case !bytes.HasPrefix(now, last):
		c.differs = true
	case len(now) > len(last):
		c.agrees += len(last)
	default:
		c.repeats = true
	}
	before.last = append(before.last[:0], now...)
}

// textProgress is what is known of one text of a stream: a content, a reasoning, or the arguments of a call. All are raw.
type textProgress struct {
	last []byte // the text in the last frame; kept until the mode is decided
	sent []byte // what the client has; kept unless frames are increments
}

// delta returns what a frame's text adds to what the client has.
func (t *textProgress) delta(m *frameMode, now []byte) []byte {
	if m.decided && !m.cumulative {
		return now
	}
	if bytes.HasPrefix(t.sent, now) {
		return nil
	}
	if fresh, ok := bytes.CutPrefix(now, t.sent); ok {
		t.sent = append(t.sent, fresh...)
		return fresh
	}
	if fresh, ok := revision(t.sent, now); ok {
		t.sent = append(t.sent[:0], now...)
		return fresh
	}
	m.cumulative = false // the proof was wrong: these are increments
	return now
}

// revisedMost is how many characters at its end a cumulative text may spell anew.
const revisedMost = 4

// revision returns what a frame adds behind a text of which it changes only the last characters. The client keeps those that it has. ok is
// false if it is another text: more of it changes, or all of it, and that is not half a character.
func revision(sent, now []byte) (fresh []byte, ok bool) {
	same := 0
	for same < len(sent) && bytes.HasPrefix(now[same:], sent[same:same+character(sent[same:])]) {
		same += character(sent[same:])
	}
	if same == 0 && wholeEnd(sent) > 0 {
		return nil, false
	}
	changed, fresh := sent[same:], now[same:]
	for n := 0; n < revisedMost && len(changed) > 0; n++ {
		changed, fresh = changed[character(changed):], fresh[character(fresh):]
	}
	return fresh, len(changed) == 0
}

// wholeEnd is where the characters U+FFFD at the end of a raw text begin. If they are too many for a revision, it is the text's end.
func wholeEnd(raw []byte) (end int) {
	halves := 0
	for at := 0; at < len(raw); {
		c := raw[at : at+character(raw[at:])]
		if at += len(c); string(c) == "\uFFFD" || bytes.EqualFold(c, []byte(`\ufffd`)) {
			halves++
		} else {
			end, halves = at, 0
		}
	}
	if halves > revisedMost {
		return len(raw)
	}
	return end
}

// character is the length of the first character of a raw text: an escape, two for a pair of surrogates, or its bytes in UTF-8.
func character(raw []byte) int {
	switch {
	case len(raw) < 2 || raw[0] != '\\':
		_, n := utf8.DecodeRune(raw)
		return n
	case raw[1] != 'u':
		return 2
	case len(raw) >= 12 && raw[2]|0x20 == 'd' && raw[3] >= '8' && raw[6] == '\\' && raw[7] == 'u':
		return 12
	}
	return min(6, len(raw))
}
