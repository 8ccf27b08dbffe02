package conversation

import (
	"bytes"
	"slices"

	"sluice/gateway/rawjson"
)

// progress is what the client has of a choice.
type progress struct {
	index     int
	content   textProgress
	reasoning textProgress
	calls     []callProgress
	latest    int  // index of the call that the last frame continued
	compared  int  // the same for the comparison of frames, which is ahead of the deltas
	logprobs  int  // tokens of them
	started   bool // the client has something of it
	finished  bool // the client has the finish_reason
}

// callProgress is what the client has of a tool call.
type callProgress struct {
	index     int
	arguments textProgress
	known     []byte // its id
	id, name  bool   // passed to the dialect, once
}

// progress finds the progress of a choice, or starts it.
func (s *Stream) progress(index int) *progress {
	for i := range s.choices {
		if s.choices[i].index == index {
			return &s.choices[i]
		}
	}
	s.choices = append(s.choices, progress{index: index})
	return &s.choices[len(s.choices)-1]
}

// call finds the progress of a call, or starts it. latest is the index of the previous call, and becomes that of this one. A call
// without a number is found by its id. Without an id it continues the previous call, if the frame has no other.
func (p *progress) call(now *frameCall, latest *int) *callProgress {
	index := now.index
	switch {
	case now.numbered:
	case len(now.ID) > 0:
		index = p.identify(now)
	case now.single:
		index = *latest
	}
	*latest = index
	at := slices.IndexFunc(p.calls, func(c callProgress) bool { return c.index == index })
	if at < 0 {
		at = len(p.calls)
		p.calls = append(p.calls, callProgress{index: index})
	}
	if found := &p.calls[at]; len(found.known) == 0 {
		found.known = append(found.known, now.ID...)
	}
	return &p.calls[at]
}

// identify returns the index of the call with the id of now, or else that of a new call: its position, unless another call has it.
func (p *progress) identify(now *frameCall) (index int) {
	index = now.index
	for i := range p.calls {
		switch before := &p.calls[i]; {
		case bytes.Equal(before.known, now.ID):
			return before.index
		case len(before.known) > 0:
			index = max(index, before.index+1)
		}
	}
	return index
}

// pass passes to the dialect what is new in each choice of s.answer.
func (s *Stream) pass(dst []byte) []byte {
	for i := range s.answer.Choices {
		if s.compare(&s.answer.Choices[i]) {
			s.started = true
			dst = s.dialect.Delta(dst, &s.news)
		}
	}
	return dst
}

// compare puts what is new in a choice into s.news, and reports whether anything is.
func (s *Stream) compare(now *Choice) bool {
	p, d := s.progress(now.Index), &s.news
	*d = Delta{Choice: now.Index, First: !p.started, Calling: now.Called(), Calls: d.Calls[:0], Usage: &s.usage}
	d.Text = p.content.delta(&s.mode, now.Text)
	d.Thinking = p.reasoning.delta(&s.mode, now.Thinking)
	s.compareCalls(p, now.calls)
	if !p.finished {
		d.Finish = now.Finish
	}
	if len(d.Text) == 0 && len(d.Thinking) == 0 && len(d.Calls) == 0 && d.Finish == nil {
		return false
	}
	p.started, p.finished = true, p.finished || d.Finish != nil
	d.Logprobs = s.newLogprobs(p, now.Logprobs)
	return true
}

func (s *Stream) compareCalls(p *progress, calls []byte) {
	if calls == nil {
		return
	}
	position := 0
	single := rawjson.Length(calls) == 1
	for r := rawjson.Array(calls); r.Element(); position++ {
		now := readCall(r.Value(), position)
		now.single = single
		before := p.call(&now, &p.latest)
		fresh := CallDelta{Index: before.index}
		fresh.Arguments = before.arguments.delta(&s.mode, now.Arguments)
		if len(now.ID) > 0 && !before.id {
			fresh.ID, before.id = now.ID, true
		}
		if len(now.Name) > 0 && !before.name {
			fresh.Name, before.name = now.Name, true
		}
		if fresh.ID != nil || fresh.Name != nil || len(fresh.Arguments) > 0 {
			s.news.Calls = append(s.news.Calls, fresh)
		}
	}
}

// newLogprobs returns the log probabilities of the new tokens.
func (s *Stream) newLogprobs(p *progress, logprobs []byte) []byte {
	if logprobs == nil || s.mode.decided && !s.mode.cumulative {
		return logprobs
	}
	room := append(s.logprobs[:0], `{"content":[`...)
	position := 0
	for r := rawjson.Array(rawjson.Find(logprobs, "content")); r.Element(); position++ {
		if value := r.Value(); position >= p.logprobs {
			room = append(rawjson.Next(room), value...)
		}
	}
	p.logprobs = max(p.logprobs, position)
	s.logprobs = append(room, "]}"...)
	return s.logprobs
}
