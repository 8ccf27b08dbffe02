package chat

import "sluice/gateway/simulator/answer"

// textUsage is the usage of a chat answer. Zero and absent are different, so what may be absent is a pointer.
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

// output sums the first n steps of all alternatives: all tokens, and those of the chain of thought.
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
func (ch *chat) cost(n int) answer.Cost {
	all, _ := ch.output(n)
	return answer.Cost{Input: int64(ch.prompt.input()), Output: all}
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
		u.Prompt.Creation, u.Prompt.Type = new(int64(p.cached)), "ephemeral"
	}
	if !p.media { // total_tokens is only for plain text
		u.Total = new(u.Input + u.Output)
	} else {
		u.Inputs = &inputDetails{Text: int64(p.text), Image: u.Image, Video: u.Video, Audio: u.Audio}
	}
	if ch.parameters.Flag("enable_thinking") {
		u.Outputs = &outputDetails{Reasoning: &thought, Text: all - thought}
	}
	return u
}

// some is nil for zero: no such medium in the input.
func some(n int) *int64 {
	if n == 0 {
		return nil
	}
	return new(int64(n))
}
