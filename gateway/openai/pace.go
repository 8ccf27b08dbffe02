package openai

import "bytes"

// pace tells streams whose frames carry what is new from those whose frames repeat the whole text so far. The service is asked
// for the first, some of its models send the second, and no frame says which it is.
//
// A frame that does not begin with the text of the frame before proves increments, and it is nearly always the second one. A
// frame that does may be either: "1" and then "12". It is held until the next frames tell, or the stream ends. Two frames in a
// row that grow from the one before are taken for repetition.
type pace struct {
	decided    bool
	cumulative bool
	grown      int  // frames that began with the one before, and went on
	repeated   bool // a frame was the same as the one before, and said nothing else that is new
}

// grownEnough is how many frames must grow from the one before to prove repetition.
const grownEnough = 2

// mostHeld is how many frames may wait for the next to explain them.
const mostHeld = 64

// weigh looks at the frame in s.answer and reports whether it can be translated now, with all that are held.
func (p *pace) weigh(s *Stream) bool {
	if p.decided {
		return true
	}
	var f comparison
	for i := range s.answer.choices {
		f.compare(s, &s.answer.choices[i])
	}
	switch {
	case f.differs:
		p.decided = true
	case f.grows:
		p.grown++
		if p.grown == grownEnough {
			p.decided, p.cumulative = true, true
		}
	case f.repeats:
		p.repeated = p.repeated || !f.news
	default:
		return s.held.empty()
	}
	if len(s.held.ends) == mostHeld {
		p.end()
	}
	return p.decided
}

// end decides at the end of a stream: an answer so short is more often a repeated one than one that stutters.
func (p *pace) end() {
	if !p.decided {
		p.decided, p.cumulative = true, p.grown > 0 || !p.repeated
	}
}

// comparison is what a frame's texts are beside those of the frame before.
type comparison struct {
	differs, grows, repeats bool
	news                    bool // something that no earlier frame has
}

func (c *comparison) compare(s *Stream, now *said) {
	before := s.progress(now.index)
	c.text(&before.content, now.content)
	c.text(&before.reasoning, now.reasoning)
	position := 0
	for calls := walkArray(now.calls); calls.element(); position++ {
		call := readCall(calls.value, position)
		c.text(&before.call(call.index).arguments, call.arguments)
	}
	c.news = c.news || now.finish != nil
}

func (c *comparison) text(before *passage, now []byte) {
	if len(now) == 0 {
		return
	}
	switch seen := before.seen; {
	case len(seen) == 0:
		c.news = true
	case !bytes.HasPrefix(now, seen):
		c.differs = true
	case len(now) > len(seen):
		c.grows = true
	default:
		c.repeats = true
	}
	before.seen = append(before.seen[:0], now...)
}

// passage is one text of a stream: a content, a reasoning or the arguments of a call.
type passage struct {
	seen []byte // in the last frame, as long as the pace is open
	told []byte // to the client, where frames may repeat it
}

// news is what a frame's text adds to what the client has.
func (t *passage) news(p *pace, now []byte) []byte {
	if p.decided && !p.cumulative {
		return now
	}
	if bytes.HasPrefix(t.told, now) {
		return nil
	}
	if fresh, ok := bytes.CutPrefix(now, t.told); ok {
		t.told = append(t.told, fresh...)
		return fresh
	}
	p.cumulative = false // no repetition after all
	return now
}
