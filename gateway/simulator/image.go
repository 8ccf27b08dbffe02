package simulator

import "time"

// syncUsage is the usage of a synchronous image answer.
type syncUsage struct {
	Width  int `json:"width"`
	Height int `json:"height"`
	Count  int `json:"image_count"`
}

// answer is a synchronous answer with n images.
func (e easel) answer(n int, requestID string, now time.Time) *reply {
	var out messageOutput
	for i := range n {
		out.Choices = append(out.Choices, imageChoice(part{Image: e.address(i, now)}))
	}
	usage := syncUsage{Width: e.size.w, Height: e.size.h, Count: n}
	return &reply{Output: out, Usage: usage, RequestID: requestID}
}
