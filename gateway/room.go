package gateway

import "sluice/policy"

// room is what a request and its exchange with the service need, beside their state.
type room struct {
	judged policy.Request
	body   bounded // of the answer
}

func (m *room) clear() { *m = room{} }
