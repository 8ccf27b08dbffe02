package gateway

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"sluice/cache"
	"sluice/gateway/conversation"
	"sluice/gateway/dialect"
	"sluice/gateway/dialect/messages"
	"sluice/gateway/openai"
	"sluice/gateway/refusal"
	"sluice/gateway/upstream"
	"sluice/policy/account"
)

// pictures answers a request for images. If the service made a task of it, the client waits for the task's end; nothing is
// written meanwhile, because the clients' libraries take no early bytes. A client that leaves ends only its wait: the finisher
// follows the task.
func (f *fronts) pictures(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if err := next(w, r, s); err != nil {
			return err
		}
		native, ok := w.front.Native()
		if !ok {
			return nil // the service refused
		}
		made, err := openai.ReadPictures(native, s.service.live.pool.Cover)
		if err != nil {
			w.front.Final = true
			return refusal.New(refusal.Answer).Say("The service's answer could not be read.").Because(err)
		}
		created := s.start
		if made.Task != "" && !made.State.Final() {
			if s.parameters == nil || s.parameters.Body == nil { // else the span reads the body at its end
				releaseBody(f.buffers, s)
			}
			claim, err := f.await(r.Context(), w, s, made.Task)
			if err != nil || claim == nil {
				return err
			}
			created = claim.Created
			if made, err = openai.ReadPictures(claim.Body, s.service.live.pool.Cover); err != nil {
				return err
			}
		}
		return f.write(r.Context(), w, s, made, created)
	}
}

var errAnswered = errors.New("another answer has left")

// write writes the pictures, or why there are none.
func (f *fronts) write(ctx context.Context, w *reply, s *requestState, made *openai.Pictures, created time.Time) error {
	switch refused := made.Refusal(); {
	case refused != nil:
		w.front.Final = true
		return instead(w, refused.Status, openai.AppendError(nil, refused))
	case s.encoded:
		return f.writeEncoded(ctx, w, s, made, created)
	}
	return instead(w, http.StatusOK, made.Append(nil, created.Unix()))
}

// instead writes an answer in OpenAI's form in place of the answer that is held back.
func instead(w *reply, status int, body []byte) error {
	if !w.takeBack() {
		return errAnswered
	}
	w.front.Task = w.state.Task
	w.front.Pass()
	return answer{status: status, header: jsonHeader(), body: body}.write(w)
}

// await waits until a task has ended. It returns nil if the client has left.
func (f *fronts) await(ctx context.Context, w *reply, s *requestState, task string) (*cache.Claim, error) {
	s.task = task
	claim, err := f.polls.own(ctx, s)
	if err != nil {
		w.front.Final = s.unclaimable
		return nil, err
	}
	for !claim.Final() {
		left := f.config.ImageWait - f.polls.deps.Now().Sub(s.start)
		switch {
		case ctx.Err() != nil:
			w.takeBack()
			return nil, nil
		case f.polls.live.stopping.Load():
			return nil, refusal.New(refusal.Stopping).Say("This gateway is stopping; the task %s goes on. Send the request again, or ask for "+
				"%s%[1]s.", task, frontTasks)
		case left <= 0:
			w.front.Final = true
			return nil, refusal.New(refusal.Wait).Say("The task %s has not ended within %s; it goes on. Ask for %s%[1]s.", task, f.config.ImageWait,
				frontTasks)
		}
		latest, waited := f.polls.tasks.Await(ctx, claim, s.Span, left, f.polls.live.stopping.Load)
		s.waited += waited + latest.Took
		s.recordEnd(&latest)
		claim = latest.Claim
	}
	return &claim, nil
}

// showTask describes one of the team's tasks.
func (f *fronts) showTask(w *reply, r *http.Request, s *requestState) error {
	s.header = f.headers.withoutForm(s.header)
	claim, err := f.polls.own(r.Context(), s)
	if err != nil {
		return err
	}
	if err := f.polls.answer(w, r, s, claim); err != nil {
		return err
	}
	native, _ := w.front.Native()
	state, err := openai.ReadPictures(native, s.service.live.pool.Cover)
	if err != nil {
		return err
	}
	return instead(w, http.StatusOK, state.AppendTask(nil, claim.Created.Unix()))
}

// encodedPiece is how much base64 text is written at a time.
const encodedPiece = 64 << 10

// writeEncoded writes the pictures themselves. It fetches one after the other and holds no picture whole. Until the first piece
// of the first picture is there, a failure is a plain error; later it cuts the answer.
func (f *fronts) writeEncoded(ctx context.Context, w *reply, s *requestState, made *openai.Pictures, created time.Time) error {
	if !w.takeBack() {
		return errAnswered
	}
	w.front.Task = s.Task
	frames := made.Frames(created.Unix())
	out := bufio.NewWriterSize(&lateReply{reply: w}, encodedPiece)
	for i, address := range made.URLs {
		_, _ = out.Write(frames[i]) // its errors recur at the end
		if err := f.encode(ctx, w, s, out, address); err != nil {
			return f.unfetched(ctx, w, made, err)
		}
	}
	_, _ = out.Write(frames[len(frames)-1])
	_ = out.Flush() // the Record notes that the client left
	return nil
}

// encode fetches one picture into out. The wait for its host is not the gateway's own time.
func (f *fronts) encode(ctx context.Context, w *reply, s *requestState, out *bufio.Writer, address string) error {
	before, writing := w.bounds.now(), w.writing
	defer func() { s.waited += w.bounds.now().Sub(before) - (w.writing - writing) }()
	text := base64.NewEncoder(base64.StdEncoding, out)
	if _, err := f.fetcher.Copy(ctx, text, address); err != nil {
		return err
	}
	return text.Close()
}

// unfetched refuses after a failed download. The pictures are paid for, and a repeat gets the same task. Without a task a repeat would
// pay again, so the message has the addresses.
func (f *fronts) unfetched(ctx context.Context, w *reply, made *openai.Pictures, err error) error {
	switch {
	case ctx.Err() != nil && w.wrote:
		panic(http.ErrAbortHandler) // the client has left
	case ctx.Err() != nil:
		return nil
	case made.Task != "" && errors.Is(err, upstream.ErrBusy):
		return refusal.New(refusal.Picture).Say("Too many pictures are being fetched. Send the request again, or ask for %s%s.", frontTasks,
			made.Task).Because(err)
	case made.Task != "":
		return refusal.New(refusal.Picture).Say("A picture of the task could not be fetched. Send the request again, or ask for %s%s.",
			frontTasks, made.Task).Because(err)
	}
	w.front.Final = true
	return refusal.New(refusal.Picture).Say("A picture could not be fetched; the pictures are at %s.",
		strings.Join(made.URLs, " ")).Because(err)
}

// lateReply begins the answer at the first write.
type lateReply struct{ *reply }

func (w *lateReply) Write(p []byte) (int, error) {
	if !w.wrote {
		w.front.Pass()
		h := w.Header()
		h["Content-Type"] = acceptJSON
		delete(h, "Content-Length") // of the answer that this one replaces
		w.WriteHeader(http.StatusOK)
	}
	return w.reply.Write(p)
}

// translate makes a reply write through a [dialect.Writer].
func (w *reply) translate(r *http.Request, routes *routes) {
	w.state.Front = frontName
	form := dialect.Form{IDHeader: "X-Request-Id", Errors: openai.AppendError}
	header := r.Header
	if header["Anthropic-Version"] != nil {
		if to, _ := routes.lookup(r.URL.EscapedPath()); to.route != nil && to.route.front != "" {
			header = nil // the route says which dialect it is
		}
	}
	if messages.Speaks(r.URL.Path, header) {
		messages.Present(r.Header)
		form.IDHeader, form.Errors, form.Ping = "Request-Id", messages.AppendErrorOf(w.state.ID), messages.Ping
		form.Now = w.bounds.now
		w.state.pulse = func() { ping(w) }
	}
	w.front = dialect.NewWriter(w.ResponseWriter, w.state.ID, form)
	w.front.Counted = func() bool { return counted(w.state) }
	w.front.Judge = w.judge
	w.ResponseWriter, w.control = w.front, *http.NewResponseController(w.front)
}

// counted reports whether the service has counted work for a request that is not remembered, in the answer so far.
func counted(s *requestState) bool {
	read := s.reading
	if s.meter != nil {
		read = s.meter.End()
	}
	return s.repeats == nil && read.Counts()
}

// takeBack drops the answer so that another can replace it. It reports false if a byte of the answer has left.
func (w *reply) takeBack() bool {
	if w.front == nil {
		return false
	}
	ok := w.front.TakeBack()
	w.wrote = w.wrote && !ok
	return ok
}

// endFront writes what the front held back, once the chain has ended. p is the value of the chain's panic. If an answer was cut
// before a byte of it left, the client gets an error in its place; if a stream was cut later, its last event is the error.
func (w *reply) endFront(r *http.Request, p any) any {
	w.extendDeadline(w.bounds.now())
	if w.state.repeats != nil {
		w.final(w.front.Final || w.state.unknown)
		w.front.Task = w.state.Task
	} else { // nothing is remembered: a repeat would be paid again
		w.final(w.front.Final || w.state.mayHaveRun())
	}
	if p == http.ErrAbortHandler && dialect.Answered(w.front) {
		p = nil // the client knows why the stream failed, and not how it ended then
	}
	if p == http.ErrAbortHandler && r.Context().Err() == nil && w.takeBack() {
		w.final(w.front.Final || w.state.mayHaveRun())
		writeRefusal(w, w.state, refusal.Lost(w.state.fault))
		p = nil
	}
	if p == nil && w.front.Lost() && w.takeBack() {
		w.final(true) // it is paid for
		writeRefusal(w, w.state, refusal.New(refusal.Answer).Say("The service's answer is too long for the gateway's memory at the moment."))
	}
	switch {
	case p == nil:
		w.note(w.front.End())
	case w.failed == nil && r.Context().Err() == nil:
		lost := refusal.Lost(cmp.Or(w.state.Refusal, w.state.fault))
		shown, err := w.front.Cut(&conversation.Refusal{Status: lost.Status, Code: lost.Code, Message: lost.Message})
		if w.note(err); shown {
			p = nil
		}
	}
	status, n := w.front.Sent()
	if status == 0 {
		return http.ErrAbortHandler // else net/http would send a 200 without a body to a client that only ended its sending side
	}
	w.state.Status, w.state.BytesOut = status, n
	return p
}

// judge notes the error with which a front ends an answer that began as a success, before it is written. Unless it is inside the answer,
// judge names it in the header.
func (w *reply) judge(r *conversation.Refusal, inside bool) {
	s, h := w.state, w.Header()
	s.exchange.Said, w.late = r.Told, s.client.Err() != nil
	refused := refusal.Inside(r, s.service.live.pool.Cover)
	if refused != nil {
		s.Refusal, s.Reason = cmp.Or(s.Refusal, refused.Name), refused.Shown()
	}
	if inside {
		return
	}
	if refused != nil {
		h["Sluice-Refusal"] = []string{refused.Name}
	}
	if w.alone && !r.Told && !s.exchange.Whole { // else the connection's next request waits while the rest is read
		h["Connection"] = closing
	}
	s.values.SetRetry(r.Status, account.Patience(r.Code), h)
}

// final sets whether a client of OpenAI's interface is asked not to repeat the request, because a repeat would fail or pay again.
func (w *reply) final(is bool) {
	if w.front != nil {
		w.front.Final = is
	}
}
