package upstream

import (
	"errors"
	"net"
)

// Failure is a way in which an exchange fails.
type Failure int

// The failures.
const (
	Unreachable Failure = iota // no byte of the request left
	Silent                     // the service did not answer in time, or fell silent inside its answer
	Lost                       // the answer broke off, or cannot be read
)

// Error says how an exchange failed, and why.
type Error struct {
	Failure Failure
	Err     error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// explain tells the failures apart. sent: a byte of the request has left.
func explain(err error, sent bool) *Error {
	switch {
	case !sent:
		return &Error{Unreachable, err}
	case isTimeout(err):
		return &Error{Silent, err}
	}
	return &Error{Lost, err}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
