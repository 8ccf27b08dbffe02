package gallery

import (
	"time"

	"sluice/gateway/simulator/answer"
)

// syncUsage is the usage of a synchronous image answer.
type syncUsage struct {
	Width  int `json:"width"`
	Height int `json:"height"`
	Count  int `json:"image_count"`
}

// Answer is a synchronous answer with n images.
func (e Easel) Answer(n int, requestID string, now time.Time) *answer.Reply {
	var out answer.Output
	for i := range n {
		out.Choices = append(out.Choices, answer.ImageChoice(answer.Part{Image: e.Address(i, now)}))
	}
	usage := syncUsage{Width: e.Size.W, Height: e.Size.H, Count: n}
	return &answer.Reply{Output: out, Usage: usage, RequestID: requestID}
}
