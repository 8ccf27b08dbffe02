package simulator

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"sluice/gateway/simulator/billing"
)

// chat is one answer of a chat model. The simulator has no model: a hash picks sentences, so the same request gets the same text.
type chat struct {
	*call
	*prompt
	multimodal   bool // content is a list of parts
	textFormat   bool // result_format is text
	alternatives []alternative
	steps        int // of the longest alternative
}

// alternative is one answer of several, cut into the steps of a stream.
type alternative struct {
	steps  []step
	finish string // finish_reason
}

// step is what one frame adds.
type step struct {
	thinking, content string
	calls             []toolCall
	tokens            int // of all the above
	thought           int // of the thinking
}

// serveChat answers a chat on the text or the multimodal path, whole or as a stream.
func serveChat(c *call, multimodal bool) (*answer, error) {
	check := checkText
	if multimodal {
		check = checkChat
	}
	if err := check(c); err != nil {
		return nil, err
	}
	ch := &chat{call: c, prompt: readPrompt(c), multimodal: multimodal, textFormat: !multimodal && resultFormat(c) == "text", steps: 1}
	for i := range integer(ch.param, "n", 1) {
		alt := ch.write(ch.hash + uint64(i))
		ch.alternatives = append(ch.alternatives, alt)
		ch.steps = max(ch.steps, len(alt.steps))
	}
	a := &answer{worked: true, cost: ch.cost(ch.steps)}
	if ch.sse {
		a.frames = ch.frames
	} else {
		a.doc = ch.reply(0, ch.steps)
	}
	return a, nil
}

// write writes one alternative. max_completion_tokens includes the chain of thought, max_tokens does not.
func (ch *chat) write(hash uint64) alternative {
	var alt alternative
	add := func(s step) { alt.steps = append(alt.steps, s) }
	all := integer(ch.param, "max_completion_tokens", math.MaxInt)
	limit := min(ch.cfg.MaxOutput, integer(ch.param, "max_tokens", ch.cfg.MaxOutput), all)
	if get[bool](ch.param, "enable_thinking") {
		text, n := firstTokens(about(ch.question, languageOf(ch.question).thinking), min(all, integer(ch.param, "thinking_budget", math.MaxInt)))
		for piece, count := range pieces(text, ch.cfg.FrameTokens) {
			add(step{thinking: piece, tokens: count, thought: count})
		}
		limit = min(limit, all-n)
	}
	for _, tc := range toolCalls(ch.cfg.Script, ch.prompt, ch.param) {
		arguments := tc.Function.Arguments
		tc.Function.Arguments = ""
		add(step{calls: []toolCall{tc}, tokens: tokens(tc.Function.Name)})
		tc.ID, tc.Function.Name = "", ""
		for piece, count := range pieces(arguments, ch.cfg.FrameTokens) {
			tc.Function.Arguments = piece
			add(step{calls: []toolCall{tc}, tokens: count})
		}
		alt.finish = "tool_calls"
	}
	if alt.finish != "" {
		return alt
	}
	whole := stopped(ch.compose(hash), ch.param["stop"])
	text, _ := firstTokens(whole, limit)
	alt.finish = "stop"
	if len(text) < len(whole) {
		alt.finish = "length"
	}
	for piece, count := range pieces(text, ch.cfg.FrameTokens) {
		add(step{content: piece, tokens: count})
	}
	return alt
}

// compose writes the text in the form that the request asks for.
func (ch *chat) compose(hash uint64) string {
	format, text := get[object](ch.param, "response_format"), sentences(ch.question, hash)
	switch format["type"] {
	case "json_object":
		raw, _ := json.Marshal(map[string]string{"question": firstRunes(ch.question, maxQuote), "answer": text}) // strings always encode
		return string(raw)
	case "json_schema":
		raw, _ := json.Marshal(sample(get[object](format, "json_schema", "schema"), "answer", 0)) // came from JSON
		return string(raw)
	}
	return text
}

// stopped cuts text before the first stop string. It ignores token ids: the simulator has no vocabulary.
func stopped(text string, stop any) string {
	list, _ := stop.([]any)
	if one, ok := stop.(string); ok {
		list = []any{one}
	}
	for _, v := range list {
		if word, ok := v.(string); ok && word != "" {
			text, _, _ = strings.Cut(text, word)
		}
	}
	return text
}

// frames streams the answer step by step. Each frame repeats the previous steps unless the request wants increments.
func (ch *chat) frames(yield func(frame) bool) {
	for i := range ch.steps {
		from := 0
		if get[bool](ch.param, "incremental_output") {
			from = i
		}
		if !yield(frame{reply: *ch.reply(from, i+1), spent: ch.cost(i + 1), last: i == ch.steps-1}) {
			return
		}
	}
}

// reply returns the steps from..to-1, with the usage of all steps before to.
func (ch *chat) reply(from, to int) *reply {
	all, thought := ch.output(to)
	r := &reply{Usage: ch.usage(all, thought, get[bool](ch.param, "enable_thinking")), RequestID: ch.ID}
	if ch.textFormat { // only the first alternative
		alt := ch.alternatives[0]
		r.Output = textOutput{Finish: alt.finishAfter(to), Text: alt.join(from, to).content}
		return r
	}
	var out output
	for i, alt := range ch.alternatives {
		c := ch.choice(alt.join(from, to), to == ch.steps)
		c.Finish = alt.finishAfter(to)
		if len(ch.alternatives) > 1 {
			c.Index = &i
		}
		out.Choices = append(out.Choices, c)
	}
	r.Output = out
	return r
}

// output sums the first n steps of all alternatives: all tokens, and those of the chain of thought.
func (ch *chat) output(n int) (all, thought int) {
	for _, alt := range ch.alternatives {
		for _, s := range alt.steps[:min(n, len(alt.steps))] {
			all += s.tokens
			thought += s.thought
		}
	}
	return all, thought
}

// cost returns the cost of the first n steps.
func (ch *chat) cost(n int) billing.Work {
	all, thought := ch.output(n)
	return billing.Work{
		Text: ch.text, Pictures: ch.media.Image, Films: ch.media.Video, Sounds: ch.media.Audio,
		Hits: ch.hits, Created: ch.created, Explicit: ch.explicit, Answer: all - thought, Thought: thought,
	}
}

// finishAfter returns the alternative's finish_reason after this many steps.
func (alt alternative) finishAfter(steps int) string {
	if steps < len(alt.steps) {
		return unfinished
	}
	return alt.finish
}

// join joins the steps from..to-1, as many as there are.
func (alt alternative) join(from, to int) step {
	var all step
	n := len(alt.steps)
	for _, s := range alt.steps[min(from, n):min(to, n)] {
		all.thinking += s.thinking
		all.content += s.content
		for _, tc := range s.calls {
			if last := len(all.calls) - 1; last >= 0 && all.calls[last].Index == tc.Index {
				all.calls[last].Function.Arguments += tc.Function.Arguments
			} else {
				all.calls = append(all.calls, tc)
			}
		}
	}
	return all
}

// choice returns joined steps of an alternative as a choice.
func (ch *chat) choice(said step, last bool) choice {
	c := choice{Message: message{Role: "assistant", Content: said.content, ToolCalls: said.calls}}
	if ch.multimodal {
		c.Message.Content = ch.parts(said.content, last)
	}
	if get[bool](ch.param, "enable_thinking") {
		c.Message.Reasoning = &said.thinking
	}
	if get[bool](ch.param, "logprobs") {
		c.Logprobs = probabilities(said.content, integer(ch.param, "top_logprobs", 0))
	}
	return c
}

// parts returns a multimodal model's text as a list, in the last frame with the images' scaled sizes.
func (ch *chat) parts(text string, last bool) []part {
	if text == "" && !last {
		return []part{}
	}
	p := part{Text: &text}
	if last && get[bool](ch.param, "vl_enable_image_hw_output") {
		for _, size := range ch.sizes {
			p.ImageHW = append(p.ImageHW, []string{strconv.Itoa(size.H), strconv.Itoa(size.W)})
		}
	}
	return []part{p}
}

// probabilities invents a plausible log probability for every token of text, and for top less likely ones.
func probabilities(text string, top int) *logprobs {
	out := &logprobs{Content: []logprob{}}
	for token := range pieces(text, 1) {
		lp := invent(token, 0)
		for rank := range top {
			alternative := token
			if rank > 0 {
				alternative = fmt.Sprintf("%s~%d", token, rank)
			}
			lp.Top = append(lp.Top, invent(alternative, rank))
		}
		out.Content = append(out.Content, lp)
	}
	return out
}

func invent(token string, rank int) logprob {
	h := fnv.New32a()
	h.Write([]byte(token))
	lp := logprob{Token: token, Logprob: -math.Round(float64(h.Sum32()%400))/1000 - float64(rank)}
	for _, b := range []byte(token) {
		lp.Bytes = append(lp.Bytes, int(b))
	}
	return lp
}
