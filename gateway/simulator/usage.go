package simulator

import (
	"fmt"
	"hash/fnv"
	"math"
)

// textUsage is the usage of a chat answer. Zero and absent are different, so
// what may be absent is a pointer.
type textUsage struct {
	Total   *int64         `json:"total_tokens,omitempty"`
	Input   int64          `json:"input_tokens"`
	Output  int64          `json:"output_tokens"`
	Image   *int64         `json:"image_tokens,omitempty"`
	Video   *int64         `json:"video_tokens,omitempty"`
	Audio   *int64         `json:"audio_tokens,omitempty"`
	Prompt  *promptDetails `json:"prompt_tokens_details,omitempty"`
	Inputs  *inputDetails  `json:"input_tokens_details,omitempty"`
	Outputs *outputDetails `json:"output_tokens_details,omitempty"`
}

type promptDetails struct {
	Cached   int64  `json:"cached_tokens"`
	Creation *int64 `json:"cache_creation_input_tokens,omitempty"`
	Type     string `json:"cache_type,omitempty"`
}

type inputDetails struct {
	Text  int64  `json:"text_tokens"`
	Image *int64 `json:"image_tokens,omitempty"`
	Video *int64 `json:"video_tokens,omitempty"`
	Audio *int64 `json:"audio_tokens,omitempty"`
}

type outputDetails struct {
	Reasoning *int64 `json:"reasoning_tokens,omitempty"`
	Text      int64  `json:"text_tokens"`
}

// output sums the first n steps of all alternatives: all tokens, and those of
// the chain of thought.
func (ch *chat) output(n int) (all, thought int64) {
	for _, sc := range ch.scripts {
		for _, st := range sc.steps[:min(n, len(sc.steps))] {
			all += int64(st.tokens)
			thought += int64(st.thought)
		}
	}
	return all, thought
}

// cost is what n steps take.
func (ch *chat) cost(n int) cost {
	all, _ := ch.output(n)
	return cost{input: int64(ch.prompt.input()), output: all}
}

// usage is the usage after n steps.
func (ch *chat) usage(n int) textUsage {
	p := ch.prompt
	all, thought := ch.output(n)
	u := textUsage{
		Input: int64(p.input()), Output: all,
		Image: some(p.image), Video: some(p.video), Audio: some(p.audio),
		Prompt: &promptDetails{},
	}
	if p.marked {
		created := int64(p.cached)
		u.Prompt.Creation, u.Prompt.Type = &created, "ephemeral"
	}
	if !p.media { // total_tokens is only for plain text
		total := u.Input + u.Output
		u.Total = &total
	} else {
		u.Inputs = &inputDetails{Text: int64(p.text), Image: u.Image, Video: u.Video, Audio: u.Audio}
	}
	if ch.parameters.flag("enable_thinking") {
		u.Outputs = &outputDetails{Reasoning: &thought, Text: all - thought}
	}
	return u
}

// some is nil for zero: no such medium in the input.
func some(n int) *int64 {
	if n == 0 {
		return nil
	}
	v := int64(n)
	return &v
}

// logprobs are the probabilities of the tokens of one message.
type logprobs struct {
	Content []logprob `json:"content"`
}

type logprob struct {
	Token   string    `json:"token"`
	Bytes   []int     `json:"bytes"`
	Logprob float64   `json:"logprob"`
	Top     []logprob `json:"top_logprobs,omitempty"`
}

// probabilities invents a plausible probability for every token of text, and
// for top less likely ones.
func probabilities(text string, top int) *logprobs {
	out := &logprobs{Content: []logprob{}}
	for len(text) > 0 {
		n := piece(text)
		lp := invent(text[:n], 0)
		for i := range top {
			alternative := text[:n]
			if i > 0 {
				alternative = fmt.Sprintf("%s~%d", text[:n], i)
			}
			lp.Top = append(lp.Top, invent(alternative, i))
		}
		out.Content = append(out.Content, lp)
		text = text[n:]
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
