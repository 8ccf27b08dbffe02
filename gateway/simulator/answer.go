package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"

	"sluice/gateway/simulator/billing"
)

// answer is the answer to a call. One of doc, frames and png is set.
type answer struct {
	doc    any             // JSON: a *reply, or another value, which no fault changes
	frames iter.Seq[frame] // a stream
	png    []byte          // a picture

	worked bool         // the request counts as executed
	cost   billing.Work // of the whole answer
	ended  func()       // called when a stream has ended in any way; nil: not called
}

// frame is one event of a stream, with the cost up to it.
type frame struct {
	reply reply
	spent billing.Work
	last  bool
}

// reply is a result on the wire. Only a failed task has Code and Message.
type reply struct {
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Output    any    `json:"output,omitempty"` // an output or a textOutput
	Usage     any    `json:"usage,omitempty"`
	RequestID string `json:"request_id"`
	Padding   string `json:"padding,omitempty"` // only by a fault
}

// textOutput is the output of result_format text.
type textOutput struct {
	Finish string `json:"finish_reason"`
	Text   string `json:"text"`
}

// output is the output of result_format message, of images and of tasks.
type output struct {
	TaskID    string   `json:"task_id,omitempty"`
	Status    string   `json:"task_status,omitempty"`
	Submit    string   `json:"submit_time,omitempty"`
	Scheduled string   `json:"scheduled_time,omitempty"`
	End       string   `json:"end_time,omitempty"`
	Finished  *bool    `json:"finished,omitempty"`
	Choices   []choice `json:"choices,omitempty"`
	Results   []result `json:"results,omitempty"` // of the generations before 2.6
	Metrics   *metrics `json:"task_metrics,omitempty"`
	Code      string   `json:"code,omitempty"`
	Message   string   `json:"message,omitempty"`
}

// unfinished is the finish_reason of a stream that continues: a string.
const unfinished = "null"

// choice is one alternative. Index is set if there are several.
type choice struct {
	Message  message   `json:"message"`
	Finish   string    `json:"finish_reason"`
	Index    *int      `json:"index,omitempty"`
	Logprobs *logprobs `json:"logprobs,omitempty"`
}

// message is an assistant's message. Content is a string, or a []part from a multimodal model.
type message struct {
	Content   any        `json:"content"`
	Reasoning *string    `json:"reasoning_content,omitempty"`
	Role      string     `json:"role"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// part is one item of a multimodal message.
type part struct {
	Type    string     `json:"type,omitempty"`
	Text    *string    `json:"text,omitempty"`
	Image   string     `json:"image,omitempty"`
	ImageHW [][]string `json:"image_hw,omitempty"`
}

// finished returns a complete choice of text and image parts.
func finished(parts ...part) choice {
	return choice{Message: message{Content: parts, Role: "assistant"}, Finish: "stop"}
}

// toolCall is one function call. In an incremental stream only the first part of a call carries its name.
type toolCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"` // JSON in a string
	} `json:"function"`
}

// logprobs are the log probabilities of the tokens of one message.
type logprobs struct {
	Content []logprob `json:"content"`
}

// logprob is the log probability of one token, with its most likely alternatives.
type logprob struct {
	Token   string    `json:"token"`
	Bytes   []int     `json:"bytes"`
	Logprob float64   `json:"logprob"`
	Top     []logprob `json:"top_logprobs,omitempty"`
}

// result is one image of a task of the older form, or the reason why it failed.
type result struct {
	OrigPrompt   string `json:"orig_prompt,omitempty"`
	ActualPrompt string `json:"actual_prompt,omitempty"`
	URL          string `json:"url,omitempty"`
	Code         string `json:"code,omitempty"`
	Message      string `json:"message,omitempty"`
}

// metrics count a task's images.
type metrics struct {
	Total     int `json:"TOTAL"`
	Succeeded int `json:"SUCCEEDED"`
	Failed    int `json:"FAILED"`
}

// imageUsage is the usage of an image answer: with tokens and a size if asynchronous or interleaved, else with width and
// height. Nil members are absent.
type imageUsage struct {
	Total  *int   `json:"total_tokens,omitempty"`
	Input  *int   `json:"input_tokens,omitempty"`
	Output *int   `json:"output_tokens,omitempty"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	Count  *int   `json:"image_count,omitempty"`
	Size   string `json:"size,omitempty"`
}

// refusal is an answer without a result. It is an error, so that any stage can return it.
type refusal struct {
	status        int
	code, message string
	plain         bool // never as a stream frame
}

// Refusals that do not depend on the request.
var (
	errNotFound  = &refusal{404, "NotFound", "The requested path does not exist.", true}
	errMethod    = &refusal{405, "InvalidParameter", "Request method is not supported.", true}
	errKey       = &refusal{401, "InvalidApiKey", "Invalid API-key provided.", true}
	errTooLarge  = &refusal{413, "BadRequest.TooLarge", "The request body is too large.", true}
	errMedia     = &refusal{415, "InvalidParameter", "Content-Type must be application/json.", false}
	errBody      = &refusal{400, "InvalidParameter", "Required body invalid, please check the request body format.", false}
	errRate      = &refusal{429, "Throttling.RateQuota", "Requests rate limit exceeded, please try again later.", false}
	errNeedAsync = &refusal{403, "AccessDenied", "current user api does not support synchronous calls.", false}
	errNoAsync   = &refusal{403, "AccessDenied", "current user api does not support asynchronous calls.", false}
	errNotQueued = &refusal{400, "UnsupportedOperation", "Failed to cancel the task, please confirm if the task is in PENDING status.", false}
	errPicture   = &refusal{403, "AccessDenied", "Request has expired or its signature does not match.", true}
)

// invalid returns the refusal of a request that breaks a rule.
func invalid(format string, args ...any) error {
	return &refusal{400, "InvalidParameter", fmt.Sprintf(format, args...), false}
}

// Error makes a refusal an error.
func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.status, r.code, r.message) }

// body returns the refusal on the wire. Its code comes first: clients match `{"code":` literally.
func (r *refusal) body(requestID string) any {
	return struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
	}{r.code, r.message, requestID}
}

// encode returns v as compact JSON without escapes for HTML, as the service writes it.
func encode(v any) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("simulator: answer cannot be encoded: " + err.Error())
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
