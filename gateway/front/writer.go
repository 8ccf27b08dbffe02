package front

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"sluice/gateway/openai"
)

// Writer is an [http.ResponseWriter] that takes an answer in the service's form and writes it in OpenAI's. It holds the header
// back until something can be written, because an error before the first content is a plain HTTP error.
//
// An answer with an error status becomes OpenAI's error. [Writer.Chat] and [Writer.Pass] say what other answers are; without
// either, they are held until [Writer.TakeBack].
type Writer struct {
	// Params translates the name of a field of the service's request into the client's; nil: no field has a name.
	Params func(field string) string
	// Task is the task of the answer; empty: none.
	Task string
	// Final tells the client's library that a repeat can only waste or pay again.
	Final bool
	// Memory is what the Writer takes memory from for an answer of more than 4 MiB that is no stream; nil: there is enough.
	Memory Memory

	under   http.ResponseWriter
	control http.ResponseController
	id      string

	pass   bool           // the answer is in OpenAI's form already
	chat   bool           // it is a chat
	head   openai.Head    // of the chat
	events bool           // the client wants it as a stream
	usage  bool           // its stream ends with the usage
	param  string         // of the error
	status int            // 0: no answer has begun
	native []byte         // the whole answer, unless it is streamed
	taken  int64          // of Memory, in bytes
	lost   bool           // there was no memory for the answer
	stream *openai.Stream // nil: the answer is none
	memory *openai.Stream // for it
	failed bool           // the stream's error is written

	sent    int   // the status that was sent; 0: nothing was
	bytes   int64 // of the body that were sent
	flushed int64 // of them, when it was flushed last
	out     []byte
	buffers *buffers // nil: native is the Writer's own, and out is empty
}

// NewWriter makes the Writer of one request. id is the request's, which OpenAI's clients read in x-request-id.
func NewWriter(under http.ResponseWriter, id string) *Writer {
	w := writers.Get().(*Writer)
	w.under, w.control, w.id = under, *http.NewResponseController(under), id
	return w
}

// Chat says that the answer is one to a chat. stream: the client reads a stream alone. usage: a stream ends with the usage.
func (w *Writer) Chat(head openai.Head, stream, usage bool) {
	w.chat, w.head, w.events, w.usage = true, head, stream, usage
}

// Pass says that the answer is in OpenAI's form already.
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
func (w *Writer) Sent() (status int, bytes int64) { return w.sent, w.bytes }

// TakeBack drops an answer that was held, so that another can be written in its place. It reports false if a part was sent.
func (w *Writer) TakeBack() bool {
	if w.sent != 0 {
		return false
	}
	w.giveBuffers()
	w.status, w.stream, w.failed, w.pass, w.lost = 0, nil, false, false, false
	return true
}

// Unwrap gives http.ResponseController the writer below.
func (w *Writer) Unwrap() http.ResponseWriter { return w.under }

// Header is the header of both the answer in the service's form and that in OpenAI's.
func (w *Writer) Header() http.Header { return w.under.Header() }

// WriteHeader begins the answer in the service's form.
func (w *Writer) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	switch {
	case w.pass:
		w.send(status)
	case w.chat && status < http.StatusBadRequest && streams(w.Header()):
		w.beginStream()
	case w.chat:
		w.takeBuffers()
	}
}

// beginStream begins the answer's stream. An answer that was taken back may have begun another.
func (w *Writer) beginStream() {
	w.memory.Clear()
	w.stream = w.memory
	w.stream.Begin(w.head, w.usage)
}

func streams(h http.Header) bool {
	media := h["Content-Type"]
	return len(media) > 0 && len(media[0]) >= len(eventType) && strings.EqualFold(media[0][:len(eventType)], eventType)
}

const eventType = "text/event-stream"

// Write takes a piece of the answer.
func (w *Writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	var err error
	switch {
	case w.pass:
		err = w.body(p)
	case w.failed:
	case w.stream != nil:
		w.takeBuffers()
		defer w.giveBuffers()
		w.out, err = w.stream.Append(w.out, p)
		err = w.chunks(err)
	default:
		w.hold(p)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// chunks writes what the stream made of its last input.
func (w *Writer) chunks(failed error) error {
	if failed != nil {
		w.failed = true
		return w.refuse(failed)
	}
	if len(w.out) == 0 {
		return nil
	}
	w.sendType(http.StatusOK, eventStream)
	return w.body(w.out)
}

// End writes what was held. Call it only if the answer ended in order.
func (w *Writer) End() (err error) {
	switch {
	case w.pass, w.status == 0, w.failed:
		return nil
	case w.stream != nil:
		w.takeBuffers()
	}
	defer w.giveBuffers()
	switch {
	case w.status >= http.StatusBadRequest:
		return w.refuse(openai.ReadRefusal(w.status, w.native))
	case w.stream != nil:
		w.out, err = w.stream.End(w.out)
		return w.chunks(err)
	case w.events:
		return w.asStream()
	}
	if w.out, err = openai.AppendCompletion(w.out, w.head, w.native); err != nil {
		return w.refuse(err)
	}
	return w.whole(w.status, w.out)
}

// asStream writes an answer as a stream: the service sent it whole, but the client reads events alone.
func (w *Writer) asStream() (err error) {
	w.beginStream()
	w.out, err = w.stream.Whole(w.out, w.native)
	return w.chunks(err)
}

// Cut sends what arrived whole of a stream that broke off, before its connection is cut.
func (w *Writer) Cut() error {
	if w.stream == nil || w.sent == 0 || w.failed {
		return nil
	}
	w.takeBuffers()
	defer w.giveBuffers()
	w.out = w.stream.Cut(w.out)
	if err := w.chunks(nil); err != nil {
		return err
	}
	return w.FlushError()
}

// refuse writes an error.
func (w *Writer) refuse(err error) error {
	refusal, ok := errors.AsType[*openai.Refusal](err)
	if !ok {
		refusal = &openai.Refusal{Status: http.StatusInternalServerError, Message: "The gateway failed."}
	}
	if refusal.Param == "" {
		refusal.Param = w.param
	}
	return w.whole(refusal.Status, openai.AppendError(nil, refusal))
}

// whole writes a whole answer in OpenAI's form.
func (w *Writer) whole(status int, body []byte) error {
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.sendType(status, applicationJSON)
	return w.body(body)
}

// The values that never change are shared: no code writes to a header's values.
var (
	eventStream     = []string{"text/event-stream; charset=utf-8"}
	applicationJSON = []string{"application/json"}
	never           = []string{"false"}
)

func (w *Writer) sendType(status int, media []string) {
	if w.sent != 0 {
		return
	}
	h := w.Header()
	if h["Content-Type"] = media; w.stream != nil && !w.failed {
		delete(h, "Content-Length")
	}
	w.send(status)
}

// send sends the header.
func (w *Writer) send(status int) {
	w.sent = status
	h := w.Header()
	h["X-Request-Id"] = []string{w.id}
	if w.Task != "" {
		h["Sluice-Task"] = []string{w.Task}
	}
	if w.Final && status >= http.StatusBadRequest {
		h["X-Should-Retry"] = never
	}
	w.under.WriteHeader(status)
}

func (w *Writer) body(p []byte) error {
	n, err := w.under.Write(p)
	w.bytes += int64(n)
	return err
}

// FlushError sends what was written to the client.
func (w *Writer) FlushError() error {
	if w.sent == 0 || w.flushed == w.bytes && w.bytes > 0 {
		return nil
	}
	w.flushed = w.bytes
	return w.control.Flush()
}

// Native returns the answer that is held, if it is a success. The Writer keeps it.
func (w *Writer) Native() (native []byte, ok bool) {
	return bytes.TrimSpace(w.native), w.sent == 0 && w.status != 0 && w.status < http.StatusBadRequest && !w.lost
}
