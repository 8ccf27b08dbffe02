// Package dialect writes the service's answers in the dialect of the client. The packages below know the form of each dialect; this one
// decides when something can be written.
package dialect

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/conversation"
)

// Form is what clients of an interface need beside a dialect.
type Form struct {
	IDHeader string // the header with the request's id, in its canonical form
	Errors   func(dst []byte, refused *conversation.Refusal) []byte
	Ping     string           // the event of a stream that is silent; empty: none
	Now      func() time.Time // needed with a Ping
}

// Writer is an [http.ResponseWriter] that takes an answer in the service's form and writes it in the client's. It holds the header
// back until something can be written, because an error before the first content is a plain HTTP error. It writes only what the
// gateway has answered, and ends an answer that broke off only by an error, so that it cannot pass for a whole one.
//
// An answer with an error status becomes the client's error. [Writer.Chat] and [Writer.Pass] declare what other answers are; without
// either, they are held until [Writer.TakeBack].
type Writer struct {
	// Params translates the name of a field of the service's request into the client's; nil: no field has a name.
	Params func(field string) string
	// Task is the task of the answer; empty: none.
	Task string
	// Final asks the client's library not to repeat the request, because a repeat would fail or pay again.
	Final bool
	// Counted reports whether the service has counted work, which a repeat after its error would pay again; nil: it has not.
	Counted func() bool
	// Judge sees the error in place of a success, or inside it as the end of its stream, before it is written, and may change it; nil: it is
	// written as it is.
	Judge func(r *conversation.Refusal, inside bool)
	// Memory is the budget for an answer of more than 4 MiB that is no stream; nil: there is always memory.
	Memory Memory
	// Whole translates an answer that is no chat; nil: others translate it, or it is in the client's form already.
	Whole func(dst, native []byte) ([]byte, error)

	client sending
	form   Form
	held   holding
	pass   bool                 // the answer is in the client's form already
	chat   conversation.Dialect // nil: it is no chat
	head   conversation.Head    // of the chat
	events bool                 // the client wants it as a stream
	param  string               // of the error
	status int                  // 0: no answer has begun
	stream *conversation.Stream // nil: the answer is not a stream
	memory *conversation.Stream // for it
	failed error                // of the stream, before anything of it was sent
	heard  time.Time            // when the client was last sent something, if the form has a ping

	answered bool // the client has the error of the stream; the end of the service's has not come
}

// NewWriter makes the Writer of one request. id is the request's.
func NewWriter(under http.ResponseWriter, id string, form Form) *Writer {
	w := writers.Get().(*Writer)
	w.form = form
	w.client = sending{under: under, control: *http.NewResponseController(under), id: id}
	return w
}

// Release gives the Writer's memory to another request. Nothing may refer to it any more.
func (w *Writer) Release() {
	w.held.giveBack()
	w.memory.Clear()
	*w = Writer{memory: w.memory}
	writers.Put(w)
}

// Chat declares an answer to a chat, in a dialect. stream: the client reads only a stream.
func (w *Writer) Chat(in conversation.Dialect, head conversation.Head, stream bool) {
	w.chat, w.head, w.events = in, head, stream
}

// Pass declares that the answer is in the client's form already.
func (w *Writer) Pass() { w.pass = true }

// Blame names the field of the service's request that an error is about.
func (w *Writer) Blame(field string) {
	if w.Params != nil && field != "" {
		w.param = w.Params(field)
	}
}

// BlameMember is [Writer.Blame] with the client's own name.
func (w *Writer) BlameMember(name string) { w.param = name }

// Sent returns the status and the bytes of the body that were sent; 0 if nothing was.
func (w *Writer) Sent() (status int, bytes int64) { return w.client.status, w.client.bytes }

// HoldsBack reports whether a Writer may still change the answer, and so has not sent its header. A nil Writer holds nothing back.
func HoldsBack(w *Writer) bool { return w != nil && w.client.status == 0 }

// Lost reports whether there was no memory for the answer. [Writer.TakeBack] makes room for an error in its place.
func (w *Writer) Lost() bool { return w.held.lost }

// TakeBack drops an answer that was held, so that another can be written in its place. It reports false if a part was sent.
func (w *Writer) TakeBack() bool {
	if w.client.status != 0 {
		return false
	}
	w.held.giveBack()
	w.status, w.stream, w.failed, w.pass, w.held.lost = 0, nil, nil, false, false
	return true
}

// Unwrap gives http.ResponseController the writer below.
func (w *Writer) Unwrap() http.ResponseWriter { return w.client.under }

// Header is the header of both the answer in the service's form and that in the client's.
func (w *Writer) Header() http.Header { return w.client.under.Header() }

// WriteHeader begins the answer in the service's form.
func (w *Writer) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	switch {
	case w.pass:
		w.send(status, nil)
	case w.chat != nil && status < http.StatusBadRequest && streams(w.Header()):
		begin(w)
	case w.chat != nil:
		w.held.borrow()
	}
}

// begin begins a stream in its memory. An answer that was taken back may have begun another there.
func begin(w *Writer) {
	w.chat.Begin(w.head)
	w.memory.Begin(w.chat)
	w.memory.Judge = w.Judge
	w.stream = w.memory
}

func streams(h http.Header) bool {
	const eventType = "text/event-stream"
	media := h["Content-Type"]
	return len(media) > 0 && len(media[0]) >= len(eventType) && strings.EqualFold(media[0][:len(eventType)], eventType)
}

// Write takes a piece of the answer.
func (w *Writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	var err error
	switch {
	case w.pass:
		err = w.client.body(p)
	case w.stream != nil && w.stream.Failed():
		err = ErrAnswered
	case w.stream != nil:
		w.held.borrow()
		defer w.held.giveBack()
		if w.held.out, w.failed = w.stream.Append(w.held.out, p); w.stream.Failed() {
			err = fail(w)
		} else if err = w.chunks(); err == nil {
			err = remind(w)
		}
	default:
		w.held.add(p, w.Memory)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// chunks writes what the stream made of its last input.
func (w *Writer) chunks() error {
	switch {
	case w.failed != nil:
		return w.refuse(w.failed)
	case len(w.held.out) == 0:
		return nil
	}
	w.send(http.StatusOK, eventStream)
	return w.client.body(w.held.out)
}

// End writes what was held. Call it only if the answer ended in order.
func (w *Writer) End() (err error) {
	switch {
	case w.pass, w.status == 0, w.failed != nil:
		return nil
	case w.stream != nil:
		w.held.borrow()
	}
	defer w.held.giveBack()
	switch h := &w.held; {
	case w.status >= http.StatusBadRequest:
		return w.refuse(conversation.ReadRefusal(w.status, h.native))
	case w.stream != nil:
		h.out, w.failed = w.stream.End(h.out)
		return w.chunks()
	case w.events: // the service sent the answer whole, but the client reads only events
		begin(w)
		h.out, w.failed = w.stream.Whole(h.out, h.native)
		return w.chunks()
	case w.chat != nil:
		w.chat.Begin(w.head)
		h.out, err = conversation.Whole(h.out, w.chat, h.native)
	case w.Whole != nil:
		h.out, err = w.Whole(h.out, h.native)
	default:
		err = conversation.Unreadable()
	}
	if err != nil {
		return w.refuse(err)
	}
	return w.whole(w.status, w.held.out)
}

// refuse writes an error.
func (w *Writer) refuse(err error) error {
	refusal, ok := errors.AsType[*conversation.Refusal](err)
	if !ok {
		refusal = &conversation.Refusal{Status: http.StatusInternalServerError, Message: "The gateway failed."}
	}
	if w.Judge != nil && w.status < http.StatusBadRequest {
		w.Judge(refusal, false)
	}
	if refusal.Param == "" {
		refusal.Param = w.param
	}
	refusal.Message = named(refusal.Message, w.Params)
	return w.whole(refusal.Status, w.form.Errors(nil, refusal))
}

// whole writes a whole answer in the client's form.
func (w *Writer) whole(status int, body []byte) error {
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.send(status, applicationJSON)
	return w.client.body(body)
}

// The values that never change are shared: no code writes to a header's values.
var (
	eventStream     = []string{"text/event-stream; charset=utf-8"}
	applicationJSON = []string{"application/json"}
	never           = []string{"false"}
)

// send sends the header, unless it was sent. media is the type of the body; nil: the header has it.
func (w *Writer) send(status int, media []string) {
	if w.client.status != 0 {
		return
	}
	w.client.status = status
	h := w.Header()
	if media != nil {
		h["Content-Type"] = media
	}
	if media != nil && w.stream != nil && w.failed == nil {
		delete(h, "Content-Length")
	}
	h[w.form.IDHeader] = []string{w.client.id}
	if w.Task != "" {
		h["Sluice-Task"] = []string{w.Task}
	}
	paid := status >= http.StatusInternalServerError && w.Counted != nil && w.Counted()
	if status >= http.StatusBadRequest && (w.Final || paid || isLong(h.Get("Retry-After"))) {
		h["X-Should-Retry"] = never
	}
	w.client.under.WriteHeader(status)
}

// FlushError sends what was written to the client.
func (w *Writer) FlushError() error { return w.client.flush() }

// Native returns the answer that is held, if it is a success. The Writer keeps it.
func (w *Writer) Native() (native []byte, ok bool) {
	return bytes.TrimSpace(w.held.native), w.client.status == 0 && w.status != 0 && w.status < http.StatusBadRequest && !w.held.lost
}
