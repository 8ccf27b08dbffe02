package gateway

import "net/http"

// handler answers one request, or returns an error. ServeHTTP writes the error.
type handler func(w *reply, r *http.Request, s *requestState) error

// stage is a step before a handler. It calls next, or returns an error, which ends the request.
type stage func(next handler) handler

// chain puts the stages, listed in running order, before the handler.
func chain(last handler, stages ...stage) handler {
	for i := len(stages) - 1; i >= 0; i-- {
		last = stages[i](last)
	}
	return last
}
