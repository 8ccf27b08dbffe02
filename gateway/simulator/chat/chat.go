// Package chat writes the answers of chat models: text, chains of thought, tool calls, JSON by a schema, and their
// usage, whole or frame by frame.
//
// It has no model: sentences are picked by a hash, so the same request gets the same text.
package chat

import (
	"iter"
	"strconv"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/request"
)

// Settings are the parts of an answer that the request does not determine.
type Settings struct {
	answer.Style
	MaxOutput  int  // longest answer in tokens, without its chain of thought
	Multimodal bool // content is a list of parts
	TextFormat bool // result_format is text
}

// Answer answers a valid chat request.
func Answer(q *request.Request, set Settings) answer.Answer {
	ch := &chat{Settings: set, parameters: q.Parameters(), prompt: readPrompt(q.Body)}
	for i := range ch.parameters.Integer("n", 1) {
		ch.scripts = append(ch.scripts, ch.write(ch.prompt.hash+uint64(i)))
	}
	steps := ch.length()
	a := answer.Answer{Work: true, Model: q.Model, Cost: ch.cost(steps)}
	if q.SSE {
		a.Frames = ch.frames(steps)
	} else {
		a.Doc = new(ch.reply(0, steps, true))
	}
	return a
}

// chat is one answer in the making.
type chat struct {
	Settings
	parameters request.Object
	prompt     *prompt
	scripts    []script // an alternative each
}

// length is the number of steps of the longest alternative.
func (ch *chat) length() int {
	n := 1
	for _, sc := range ch.scripts {
		n = max(n, len(sc.steps))
	}
	return n
}

// frames streams the answer step by step. Each frame repeats what went before it unless the request wants increments.
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

// reply tells the steps from..to-1, with the usage of all steps before to.
func (ch *chat) reply(from, to int, last bool) answer.Reply {
	r := answer.Reply{Usage: ch.usage(to), RequestID: ch.RequestID}
	if ch.TextFormat { // tells the first alternative only
		sc := ch.scripts[0]
		r.Output = answer.TextOutput{Finish: ch.finish(sc, to), Text: sc.join(from, to).content}
		return r
	}
	var out answer.Output
	for i, sc := range ch.scripts {
		c := ch.choice(sc.join(from, to), last)
		c.Finish = ch.finish(sc, to)
		if len(ch.scripts) > 1 {
			c.Index = &i
		}
		out.Choices = append(out.Choices, c)
	}
	r.Output = out
	return r
}

// choice is one alternative's steps, joined, as a choice.
func (ch *chat) choice(said step, last bool) answer.Choice {
	c := answer.Choice{Message: answer.Message{Role: "assistant", Content: said.content, ToolCalls: said.calls}}
	if ch.Multimodal {
		c.Message.Content = ch.parts(said.content, last)
	}
	if ch.parameters.Flag("enable_thinking") {
		c.Message.Reasoning = &said.thinking
	}
	if ch.parameters.Flag("logprobs") {
		c.Logprobs = probabilities(said.content, ch.parameters.Integer("top_logprobs", 0))
	}
	return c
}

// parts is a multimodal model's text as a list, with the images' scaled sizes in the last frame.
func (ch *chat) parts(text string, last bool) []answer.Part {
	if text == "" && !last {
		return []answer.Part{}
	}
	p := answer.Part{Text: &text}
	if last && ch.parameters.Flag("vl_enable_image_hw_output") {
		for _, size := range ch.prompt.sizes {
			p.ImageHW = append(p.ImageHW, []string{strconv.Itoa(size.H), strconv.Itoa(size.W)})
		}
	}
	return []answer.Part{p}
}

// finish is an alternative's finish_reason after so many steps.
func (ch *chat) finish(sc script, steps int) *string {
	if steps >= len(sc.steps) {
		return &sc.finish
	}
	return ch.Unfinished()
}
