package dialect

import (
	"errors"
	"time"

	"sluice/gateway/conversation"
)

// ErrAnswered is returned by [Writer.Write] when the stream has failed and the client has all of its answer, with the error: the service
// may leave its own answer open.
var ErrAnswered = errors.New("the client has its answer")

// Answered reports whether a Writer has returned [ErrAnswered]; false for nil: there is none.
func Answered(w *Writer) bool { return w != nil && w.answered }

// fail writes the error of a stream that has not ended. What an answer costs that cannot be read is known only at its end.
func fail(w *Writer) error {
	if refused, ok := errors.AsType[*conversation.Refusal](w.failed); ok && !refused.Told {
		w.Final = true
	}
	if err := w.chunks(); err != nil {
		return err
	}
	if err := w.client.flush(); err != nil {
		return err
	}
	w.answered = true
	return ErrAnswered
}

// Cut sends the whole events of a stream that broke off, and an error as its last event. shown is false for any other answer, which has
// no place for an error: its connection must be cut.
func (w *Writer) Cut(why *conversation.Refusal) (shown bool, err error) {
	if w.stream == nil || w.client.status == 0 {
		return false, nil
	}
	w.held.borrow()
	defer w.held.giveBack()
	if w.held.out, err = w.stream.Cut(w.held.out, why); err == nil {
		err = w.chunks()
	}
	return err == nil, err
}

// PingTime is the silence after which clients that need a ping get one.
const PingTime = 15 * time.Second

// remind sends a ping if the client has heard nothing for long, because what the service says is kept until something else has come.
func remind(w *Writer) error {
	if w.form.Ping == "" || w.client.status == 0 {
		return nil
	}
	now, quiet := w.form.Now(), len(w.held.out) == 0
	if quiet && now.Sub(w.heard) < PingTime {
		return nil
	}
	if w.heard = now; quiet {
		return w.client.body([]byte(w.form.Ping))
	}
	return nil
}

// Ping sends a ping on a Writer's stream, if the stream has begun and the form has a ping.
func Ping(w *Writer) error {
	if w.form.Ping == "" || w.stream == nil || w.client.status == 0 || w.stream.Failed() {
		return nil
	}
	w.heard = w.form.Now()
	if err := w.client.body([]byte(w.form.Ping)); err != nil {
		return err
	}
	return w.client.flush()
}
