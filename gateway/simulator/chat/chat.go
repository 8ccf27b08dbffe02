// Package chat writes the answers of chat models: text, chains of thought, tool calls, JSON by a schema, and their
// usage, whole or frame by frame.
//
// It has no model. The same request gets the same text.
package chat

import (
	"iter"
	"strconv"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/request"
)

// chat is one chat answer in the making.
type chat struct {
	answer.Style
	parameters request.Object
	prompt     *prompt
	scripts    []script
	multimodal bool // content is a list
	textFormat bool // result_format text
}

// Settings is what the request does not say.
type Settings struct {
	answer.Style
	MaxOutput  int  // longest answer in tokens
	Multimodal bool // content is a list of parts
	TextFormat bool // result_format is text
}

// Answer answers a valid chat request.
func Answer(q *request.Request, set Settings) answer.Answer {
	ch := &chat{
		Style: set.Style, parameters: q.Parameters(), prompt: readPrompt(q.Body),
		multimodal: set.Multimodal, textFormat: set.TextFormat,
	}
	ch.generate(set.MaxOutput)
	steps := ch.length()
	a := answer.Answer{Work: true, Model: q.Model, Cost: ch.cost(steps)}
	if q.SSE {
		a.Frames = ch.frames(steps)
	} else {
		a.Doc = new(ch.reply(0, steps, true))
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

// frames streams the answer step by step, repeating what went before unless increments are asked for.
func (ch *chat) frames(steps int) iter.Seq[answer.Frame] {
	incremental := ch.parameters.Flag("incremental_output")
	return func(yield func(answer.Frame) bool) {
		for i := range steps {
			from, last := 0, i == steps-1
			if incremental {
				from = i
			}
			if !yield(answer.Frame{Reply: ch.reply(from, i+1, last), Spent: ch.cost(i + 1), Last: last}) {
				return
			}
		}
	}
}

// reply is the answer's steps from..to-1 on the wire, with the usage up to there.
func (ch *chat) reply(from, to int, last bool) answer.Reply {
	r := answer.Reply{Usage: ch.usage(to), RequestID: ch.RequestID}
	if ch.textFormat { // tells the first alternative only
		_, said := fold(ch.scripts[0].window(from, to))
		r.Output = answer.TextOutput{Finish: ch.finish(ch.scripts[0], to), Text: said.content}
		return r
	}
	var out answer.Output
	for i, sc := range ch.scripts {
		out.Choices = append(out.Choices, ch.choice(i, sc, from, to, last))
	}
	r.Output = out
	return r
}

func (ch *chat) choice(i int, sc script, from, to int, last bool) answer.Choice {
	m, said := fold(sc.window(from, to))
	if ch.parameters.Flag("enable_thinking") {
		m.Reasoning = &said.thinking
	}
	m.Content = said.content
	if ch.multimodal {
		m.Content = ch.content(said.content, last)
	}
	out := answer.Choice{Message: m, Finish: ch.finish(sc, to)}
	if len(ch.scripts) > 1 {
		out.Index = &i
	}
	if ch.parameters.Flag("logprobs") {
		out.Logprobs = probabilities(said.content, ch.parameters.Integer("top_logprobs", 0))
	}
	return out
}

// content is a multimodal model's text as a list, with the images' scaled sizes at the very end.
func (ch *chat) content(text string, last bool) []answer.Part {
	if text == "" && !last {
		return []answer.Part{}
	}
	p := answer.Part{Text: &text}
	if last && ch.parameters.Flag("vl_enable_image_hw_output") {
		for _, sz := range ch.prompt.sizes {
			p.ImageHW = append(p.ImageHW, []string{strconv.Itoa(sz.H), strconv.Itoa(sz.W)})
		}
	}
	return []answer.Part{p}
}

// finish is the reason an alternative ended, or the service's word for "not yet" after to steps.
func (ch *chat) finish(sc script, to int) *string {
	if to >= len(sc.steps) {
		return &sc.finish
	}
	return ch.Unfinished()
}

// window is the part of the steps from..to-1 that there are.
func (sc script) window(from, to int) []step {
	n := len(sc.steps)
	return sc.steps[min(from, n):min(to, n)]
}

// fold joins steps to one message.
func fold(steps []step) (answer.Message, step) {
	m := answer.Message{Role: "assistant"}
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
