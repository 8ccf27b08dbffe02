package chat

import "sluice/gateway/simulator/answer"

// textUsage is the usage of a chat answer.
type textUsage struct {
	Total  int `json:"total_tokens,omitempty"` // of plain text only
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	media
	Prompt  *promptDetails `json:"prompt_tokens_details,omitempty"`
	Inputs  *inputDetails  `json:"input_tokens_details,omitempty"`
	Outputs *outputDetails `json:"output_tokens_details,omitempty"`
}

type promptDetails struct {
	Cached   int    `json:"cached_tokens"`
	Creation int    `json:"cache_creation_input_tokens,omitempty"`
	Type     string `json:"cache_type,omitempty"`
}

type inputDetails struct {
	Text int `json:"text_tokens"`
	media
}

type outputDetails struct {
	Reasoning int `json:"reasoning_tokens"`
	Text      int `json:"text_tokens"`
}

// output sums the first n steps of all alternatives: all tokens, and those of the chain of thought.
func (ch *chat) output(n int) (all, thought int) {
	for _, sc := range ch.scripts {
		for _, st := range sc.steps[:min(n, len(sc.steps))] {
			all += st.tokens
			thought += st.thought
		}
	}
	return all, thought
}

// cost returns the cost of n steps.
func (ch *chat) cost(n int) answer.Cost {
	all, _ := ch.output(n)
	return answer.Cost{Input: int64(ch.prompt.input()), Output: int64(all)}
}

// usage is the usage after n steps.
func (ch *chat) usage(n int) textUsage {
	p := ch.prompt
	all, thought := ch.output(n)
	u := textUsage{
		Input: p.input(), Output: all, media: p.media, Prompt: &promptDetails{Creation: p.cached},
	}
	if p.cached > 0 {
		u.Prompt.Type = "ephemeral"
	}
	if p.media.sum() == 0 {
		u.Total = u.Input + u.Output
	} else {
		u.Inputs = &inputDetails{Text: p.text, media: p.media}
	}
	if ch.parameters.Flag("enable_thinking") {
		u.Outputs = &outputDetails{Reasoning: thought, Text: all - thought}
	}
	return u
}
