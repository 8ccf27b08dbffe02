package answer

import (
	"bytes"
	"encoding/json"
)

// Reply is a result on the wire. Code and Message are those of a failed task; a success has none.
type Reply struct {
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Output    any    `json:"output,omitempty"`
	Usage     any    `json:"usage,omitempty"`
	RequestID string `json:"request_id"`
	Padding   string `json:"padding,omitempty"`
}

// MessageOutput is the output of result_format message.
type MessageOutput struct {
	Choices []Choice `json:"choices"`
}

// TextOutput is the output of result_format text.
type TextOutput struct {
	Finish *string `json:"finish_reason"`
	Text   string  `json:"text"`
}

// Choice is one alternative. Index is there when there are several.
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

// Message is an assistant's words. The content of a multimodal model is a list of parts.
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
	Index    int          `json:"index"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function FunctionCall `json:"function"`
}

type FunctionCall struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// Logprobs are the probabilities of the tokens of one message.
type Logprobs struct {
	Content []Logprob `json:"content"`
}

type Logprob struct {
	Token   string    `json:"token"`
	Bytes   []int     `json:"bytes"`
	Logprob float64   `json:"logprob"`
	Top     []Logprob `json:"top_logprobs,omitempty"`
}

// Encode writes v as compact JSON without the escapes for HTML, as the service does, and with a newline at the end.
func Encode(buf *bytes.Buffer, v any) {
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("simulator: answer cannot be encoded: " + err.Error())
	}
}
