package answer

// TaskOutput is a task on the wire.
type TaskOutput struct {
	TaskID    string       `json:"task_id,omitempty"`
	Status    string       `json:"task_status,omitempty"`
	Submit    string       `json:"submit_time,omitempty"`
	Scheduled string       `json:"scheduled_time,omitempty"`
	End       string       `json:"end_time,omitempty"`
	Finished  *bool        `json:"finished,omitempty"`
	Choices   []Choice     `json:"choices,omitempty"`
	Results   []TaskResult `json:"results,omitempty"`
	Metrics   *TaskMetrics `json:"task_metrics,omitempty"`
	Code      string       `json:"code,omitempty"`
	Message   string       `json:"message,omitempty"`
}

// TaskResult is one image of the older form, or why there is none.
type TaskResult struct {
	OrigPrompt   string `json:"orig_prompt,omitempty"`
	ActualPrompt string `json:"actual_prompt,omitempty"`
	URL          string `json:"url,omitempty"`
	Code         string `json:"code,omitempty"`
	Message      string `json:"message,omitempty"`
}

type TaskMetrics struct {
	Total     int `json:"TOTAL"`
	Succeeded int `json:"SUCCEEDED"`
	Failed    int `json:"FAILED"`
}

// ImageUsage is the usage of an asynchronous or interleaved image answer.
type ImageUsage struct {
	Total  *int64 `json:"total_tokens,omitempty"`
	Input  *int64 `json:"input_tokens,omitempty"`
	Output *int64 `json:"output_tokens,omitempty"`
	Count  *int   `json:"image_count,omitempty"`
	Size   string `json:"size,omitempty"`
}

// Task states whose spelling is not a setting.
const (
	StatePending   = "PENDING"
	StateRunning   = "RUNNING"
	StateSuspended = "SUSPENDED"
	StateSucceeded = "SUCCEEDED"
	StateFailed    = "FAILED"
	StateUnknown   = "UNKNOWN"
)
