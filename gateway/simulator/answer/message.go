package answer

// Choice is one alternative. Index is set if there are several.
type Choice struct {
	Message  Message   `json:"message"`
	Finish   *string   `json:"finish_reason"`
	Index    *int      `json:"index,omitempty"`
	Logprobs *Logprobs `json:"logprobs,omitempty"`
}

// ImageChoice is a finished choice of text and image parts.
func ImageChoice(parts ...Part) Choice {
	return Choice{Message: Message{Content: parts, Role: "assistant"}, Finish: new("stop")}
}

// Message is an assistant's message. Content is a string, or a []Part from a multimodal model.
type Message struct {
	Content   any        `json:"content"`
	Reasoning *string    `json:"reasoning_content,omitempty"`
	Role      string     `json:"role"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
}

// Part is one item of a multimodal message.
type Part struct {
	Type    string     `json:"type,omitempty"`
	Text    *string    `json:"text,omitempty"`
	Image   string     `json:"image,omitempty"`
	ImageHW [][]string `json:"image_hw,omitempty"`
}

// ToolCall is one function call. In an incremental stream only the first part of a call carries its name.
type ToolCall struct {
	Index    int      `json:"index"`
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// Function names the function of a call, with its arguments as JSON in a string.
type Function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// Logprobs are the probabilities of the tokens of one message.
type Logprobs struct {
	Content []Logprob `json:"content"`
}

// Logprob is the probability of one token, with its most likely alternatives.
type Logprob struct {
	Token   string    `json:"token"`
	Bytes   []int     `json:"bytes"`
	Logprob float64   `json:"logprob"`
	Top     []Logprob `json:"top_logprobs,omitempty"`
}
