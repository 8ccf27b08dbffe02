package simulator

import (
	"iter"
	"strconv"
)

// chat is one chat answer in the making.
type chat struct {
	style
	parameters object
	prompt     *prompt
	scripts    []script
	multimodal bool // content is a list
	textFormat bool // result_format text
}

// chatSettings is what the request does not say.
type chatSettings struct {
	style
	maxOutput  int  // longest answer in tokens
	multimodal bool // content is a list of parts
	textFormat bool // result_format is text
}

// answerChat answers a valid chat request.
func answerChat(q *request, set chatSettings) answer {
	ch := &chat{
		style: set.style, parameters: q.parameters(), prompt: readPrompt(q.body),
		multimodal: set.multimodal, textFormat: set.textFormat,
	}
	ch.generate(set.maxOutput)
	steps := ch.length()
	a := answer{work: true, model: q.model, cost: ch.cost(steps)}
	if q.sse {
		a.frames = ch.frames(steps)
	} else {
		a.doc = new(ch.reply(0, steps, true))
	}
	return a
}

// length is the number of steps of the longest alternative.
func (ch *chat) length() int {
	n := 1
	for _, sc := range ch.scripts {
		n = max(n, len(sc.steps))
	}
	return n
}

// frames streams the answer step by step, repeating what went before unless
// increments are asked for.
func (ch *chat) frames(steps int) iter.Seq[frame] {
	incremental := ch.parameters.flag("incremental_output")
	return func(yield func(frame) bool) {
		for i := range steps {
			from, last := 0, i == steps-1
			if incremental {
				from = i
			}
			if !yield(frame{reply: ch.reply(from, i+1, last), spent: ch.cost(i + 1), last: last}) {
				return
			}
		}
	}
}

// reply is the answer's steps from..to-1 on the wire, with the usage up to
// there.
func (ch *chat) reply(from, to int, last bool) reply {
	r := reply{Usage: ch.usage(to), RequestID: ch.requestID}
	if ch.textFormat { // tells the first alternative only
		_, said := fold(ch.scripts[0].window(from, to))
		r.Output = textOutput{Finish: ch.finish(ch.scripts[0], to), Text: said.content}
		return r
	}
	var out messageOutput
	for i, sc := range ch.scripts {
		out.Choices = append(out.Choices, ch.choice(i, sc, from, to, last))
	}
	r.Output = out
	return r
}

func (ch *chat) choice(i int, sc script, from, to int, last bool) choice {
	m, said := fold(sc.window(from, to))
	if ch.parameters.flag("enable_thinking") {
		m.Reasoning = &said.thinking
	}
	m.Content = said.content
	if ch.multimodal {
		m.Content = ch.content(said.content, last)
	}
	out := choice{Message: m, Finish: ch.finish(sc, to)}
	if len(ch.scripts) > 1 {
		out.Index = &i
	}
	if ch.parameters.flag("logprobs") {
		out.Logprobs = probabilities(said.content, ch.parameters.integer("top_logprobs", 0))
	}
	return out
}

// content is a multimodal model's text as a list, with the images' scaled
// sizes at the very end.
func (ch *chat) content(text string, last bool) []part {
	if text == "" && !last {
		return []part{}
	}
	p := part{Text: &text}
	if last && ch.parameters.flag("vl_enable_image_hw_output") {
		for _, sz := range ch.prompt.sizes {
			p.ImageHW = append(p.ImageHW, []string{strconv.Itoa(sz.h), strconv.Itoa(sz.w)})
		}
	}
	return []part{p}
}

// finish is the reason an alternative ended, or the service's word for "not
// yet" after to steps.
func (ch *chat) finish(sc script, to int) *string {
	if to >= len(sc.steps) {
		return &sc.finish
	}
	return ch.unfinished()
}

// window is the part of the steps from..to-1 that there are.
func (sc script) window(from, to int) []step {
	n := len(sc.steps)
	return sc.steps[min(from, n):min(to, n)]
}

// fold joins steps to one message.
func fold(steps []step) (message, step) {
	m := message{Role: "assistant"}
	var all step
	for _, st := range steps {
		all.thinking += st.thinking
		all.content += st.content
		for _, tc := range st.calls {
			if n := len(m.ToolCalls); n > 0 && m.ToolCalls[n-1].Index == tc.Index {
				m.ToolCalls[n-1].Function.Arguments += tc.Function.Arguments
			} else {
				m.ToolCalls = append(m.ToolCalls, tc)
			}
		}
	}
	return m, all
}
