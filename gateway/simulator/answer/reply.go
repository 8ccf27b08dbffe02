package answer

import (
	"bytes"
	"encoding/json"
)

// Reply is a result on the wire. Code and Message are those of a failed task; a success has none.
type Reply struct {
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Output    any    `json:"output,omitempty"` // an Output or a TextOutput
	Usage     any    `json:"usage,omitempty"`
	RequestID string `json:"request_id"`
	Padding   string `json:"padding,omitempty"` // only by a fault
}

// TextOutput is the output of result_format text.
type TextOutput struct {
	Finish *string `json:"finish_reason"`
	Text   string  `json:"text"`
}

// Output is the output of result_format message, of images and of tasks.
type Output struct {
	TaskID    string   `json:"task_id,omitempty"`
	Status    string   `json:"task_status,omitempty"`
	Submit    string   `json:"submit_time,omitempty"`
	Scheduled string   `json:"scheduled_time,omitempty"`
	End       string   `json:"end_time,omitempty"`
	Finished  *bool    `json:"finished,omitempty"`
	Choices   []Choice `json:"choices,omitempty"`
	Results   []Result `json:"results,omitempty"`
	Metrics   *Metrics `json:"task_metrics,omitempty"`
	Code      string   `json:"code,omitempty"`
	Message   string   `json:"message,omitempty"`
}

// States of a task, except CANCELED, whose spelling is a setting.
const (
	StatePending   = "PENDING"
	StateRunning   = "RUNNING"
	StateSuspended = "SUSPENDED"
	StateSucceeded = "SUCCEEDED"
	StateFailed    = "FAILED"
	StateUnknown   = "UNKNOWN"
)

// Result is one image of a task of the older form, or the reason why it failed.
type Result struct {
	OrigPrompt   string `json:"orig_prompt,omitempty"`
	ActualPrompt string `json:"actual_prompt,omitempty"`
	URL          string `json:"url,omitempty"`
	Code         string `json:"code,omitempty"`
	Message      string `json:"message,omitempty"`
}

// Metrics count a task's images.
type Metrics struct {
	Total     int `json:"TOTAL"`
	Succeeded int `json:"SUCCEEDED"`
	Failed    int `json:"FAILED"`
}

// ImageUsage is the usage of an asynchronous or interleaved image answer. Nil members are absent.
type ImageUsage struct {
	Total  *int   `json:"total_tokens,omitempty"`
	Input  *int   `json:"input_tokens,omitempty"`
	Output *int   `json:"output_tokens,omitempty"`
	Count  *int   `json:"image_count,omitempty"`
	Size   string `json:"size,omitempty"`
}

// Encode writes v as compact JSON without escapes for HTML, as the service does, and a newline.
func Encode(buf *bytes.Buffer, v any) {
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("simulator: answer cannot be encoded: " + err.Error())
	}
}
