package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/gateway/openai"
)

// pictures answers a request for images. If the service made a task of it, the client waits for the task's end; nothing is
// written meanwhile, because the clients' libraries take no early bytes. A client that leaves ends its wait and nothing else:
// the finisher follows the task.
func (f *fronts) pictures(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if err := next(w, r, s); err != nil {
			return err
		}
		native, ok := w.front.Native()
		if !ok {
			return nil // the service refused
		}
		made, err := openai.ReadPictures(native)
		if err != nil {
			w.front.Final = true
			return refuse(refuseAnswer).say("The service's answer could not be read.").because(err)
		}
		created := s.start
		if made.Task != "" && !made.State.Final() {
			if s.parameters == nil || s.parameters.Body == nil { // else the span reads the body at its end
				takeBack(f.buffers, s)
			}
			claim, err := f.await(r.Context(), w, s, made.Task)
			if err != nil || claim == nil {
				return err
			}
			created = claim.Created
			if made, err = openai.ReadPictures(claim.Body); err != nil {
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
		return w.instead(refused.Status, openai.AppendError(nil, refused))
	case s.encoded:
		return f.writeEncoded(ctx, w, s, made, created)
	}
	return w.instead(http.StatusOK, made.Append(nil, created.Unix()))
}

// instead writes an answer in OpenAI's form in place of the one that is held back.
func (w *reply) instead(status int, body []byte) error {
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
		left := f.left(s)
		switch {
		case ctx.Err() != nil:
			w.takeBack()
			return nil, nil
		case f.polls.live.stopping.Load():
			return nil, refuse(refuseStopping).say("This gateway is stopping; the task %s goes on. Send the request again, or ask for %s%[1]s.", task, frontTasks)
		case left <= 0:
			w.front.Final = true
			return nil, refuse(refuseWait).say("The task %s has not ended within %s; it goes on. Ask for %s%[1]s.", task, f.config.ImageWait, frontTasks)
		}
		latest, waited := f.polls.tasks.Await(ctx, claim, s.Span, left, f.polls.live.stopping.Load)
		s.waited += waited + latest.Took
		s.recordEnd(&latest)
		claim = latest.Claim
	}
	return &claim, nil
}

// left is how long the request may still wait.
func (f *fronts) left(s *requestState) time.Duration {
	return f.config.ImageWait - f.polls.deps.Now().Sub(s.start)
}

// showTask answers about one of the team's tasks.
func (f *fronts) showTask(w *reply, r *http.Request, s *requestState) error {
	s.header = f.headers.withoutOwn(s.header)
	claim, err := f.polls.own(r.Context(), s)
	if err != nil {
		return err
	}
	if err := f.polls.answer(w, r, s, claim); err != nil {
		return err
	}
	native, _ := w.front.Native()
	state, err := openai.ReadPictures(native)
	if err != nil {
		return err
	}
	return w.instead(http.StatusOK, state.AppendTask(nil, claim.Created.Unix()))
}
