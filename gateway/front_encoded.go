package gateway

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"sluice/gateway/fetch"
	"sluice/gateway/openai"
)

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
		_, _ = out.Write(frames[i]) // its errors come again at the end
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
	before, writing := w.terms.now(), w.writing
	defer func() { s.waited += w.terms.now().Sub(before) - (w.writing - writing) }()
	text := base64.NewEncoder(base64.StdEncoding, out)
	if _, err := f.fetcher.Copy(ctx, text, address); err != nil {
		return err
	}
	return text.Close()
}

// unfetched refuses after a failed fetch. The pictures are paid for: a repeat gets the same task. Without a task it would pay again,
// and the message has the addresses.
func (f *fronts) unfetched(ctx context.Context, w *reply, made *openai.Pictures, err error) error {
	switch {
	case ctx.Err() != nil && w.wrote:
		panic(http.ErrAbortHandler) // the client has left
	case ctx.Err() != nil:
		return nil
	case made.Task != "" && errors.Is(err, fetch.ErrBusy):
		return refuse(refusePicture).say("Too many pictures are being fetched. Send the request again, or ask for %s%s.", frontTasks, made.Task).because(err)
	case made.Task != "":
		return refuse(refusePicture).say("A picture of the task could not be fetched. Send the request again, or ask for %s%s.", frontTasks, made.Task).because(err)
	}
	w.front.Final = true
	return refuse(refusePicture).say("A picture could not be fetched; the pictures are at %s.", strings.Join(made.URLs, " ")).because(err)
}

// lateReply begins the answer at the first write.
type lateReply struct{ *reply }

func (w *lateReply) Write(p []byte) (int, error) {
	if !w.wrote {
		w.front.Pass()
		h := w.Header()
		h["Content-Type"] = acceptJSON
		delete(h, "Content-Length") // of the answer that this one stands in for
		w.WriteHeader(http.StatusOK)
	}
	return w.reply.Write(p)
}
