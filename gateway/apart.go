package gateway

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// apart runs a part of a stream's way that needs much stack on another goroutine. This one's stack would grow, and stay so for as long
// as the stream lasts. It panics with what the part panics with.
func apart(part func()) {
	var p any
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if p = recover(); p != nil && p != http.ErrAbortHandler {
				p = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
		}()
		part()
	}()
	if <-ended; p != nil {
		panic(p)
	}
}
