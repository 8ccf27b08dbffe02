package dialect

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/chat"
	"sluice/gateway/dialect/messages"
	"sluice/gateway/openai"
)

const wordFrame = `data:{"output":{"choices":[{"message":{"role":"assistant","content":"word"},"finish_reason":"null"}]}}` + "\n\n"

const lastFrame = `data:{"output":{"choices":[{"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}}` + "\n\n"

func chatting(t *testing.T) (*Writer, *httptest.ResponseRecorder) {
	t.Helper()
	under := httptest.NewRecorder()
	w := NewWriter(under, "7f3c", Form{IDHeader: "X-Request-Id", Errors: openai.AppendError})
	w.Chat(answering(t), conversation.Head{ID: "7f3c", Created: 1, Model: "llm-max"}, false)
	return w, under
}

// write writes pieces of an answer, each with a flush, as the proxy does.
func write(t *testing.T, w *Writer, media string, status int, pieces ...string) {
	t.Helper()
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	for _, piece := range pieces {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
		if err := w.FlushError(); err != nil {
			t.Fatal(err)
		}
	}
}

// The header leaves with the first chunk, and each chunk is flushed.
func TestStreamsAreFlushed(t *testing.T) {
	w, under := chatting(t)
	write(t, w, "text/event-stream;charset=UTF-8", 200, wordFrame[:40])
	if status, _ := w.Sent(); status != 0 || under.Flushed {
		t.Errorf("something was sent: %d %s", status, under.Body)
	}
	write(t, w, "text/event-stream", 200, wordFrame[40:])
	if status, n := w.Sent(); status != 200 || n != int64(under.Body.Len()) || !under.Flushed {
		t.Errorf("%d, %d bytes, flushed %v: %s", status, n, under.Flushed, under.Body)
	}
	if w.TakeBack() {
		t.Error("what was sent is taken back")
	}
	write(t, w, "text/event-stream", 200, lastFrame)
	if err := w.End(); err != nil || !strings.HasSuffix(under.Body.String(), "data: [DONE]\n\n") ||
		under.Header().Get("X-Request-Id") != "7f3c" {
		t.Errorf("%v: %v %s", err, under.Header(), under.Body)
	}
}

// A held answer may be replaced, and is no part of the replacement.
func TestHeldAnswersAreTakenBack(t *testing.T) {
	for media, piece := range map[string]string{"application/json": `{"output":{"choices"`, "text/event-stream": wordFrame[:40]} {
		w, under := chatting(t)
		write(t, w, media, 200, piece)
		if !w.TakeBack() {
			t.Fatalf("%s: it was sent: %s", media, under.Body)
		}
		w.Params = chat.Param
		w.Blame("parameters.top_p")
		w.Task, w.Final = "t1", true
		write(t, w, "application/json", 502, `{"code":"InternalError","message":"It broke off.","request_id":"7f3c"}`)
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
		want := `{"error":{"message":"It broke off.","type":"server_error","param":"top_p","code":"InternalError"}}`
		if got := under.Body.String(); got != want || under.Code != 502 {
			t.Errorf("%s: %d %s", media, under.Code, got)
		}
		if h := under.Header(); h.Get("X-Should-Retry") != "false" || h.Get("Sluice-Task") != "t1" ||
			h.Get("Content-Type") != "application/json" {
			t.Errorf("%s: headers %v", media, h)
		}
	}
}

func TestOwnAnswersPass(t *testing.T) {
	under := httptest.NewRecorder()
	w := NewWriter(under, "7f3c", Form{IDHeader: "X-Request-Id", Errors: openai.AppendError})
	w.Pass()
	write(t, w, "application/json", http.StatusOK, `{"object":"list"}`)
	if err := w.End(); err != nil || under.Body.String() != `{"object":"list"}` {
		t.Errorf("%v: %s", err, under.Body)
	}
}

// A request gets the memory of another and nothing of what was in it.
func TestReleasedMemoryIsUsedAgain(t *testing.T) {
	for range 3 {
		for _, stream := range []bool{true, false} {
			w, _ := chatting(t)
			w.Chat(answering(t), conversation.Head{ID: "7f3c", Created: 1, Model: "llm-max"}, stream)
			w.Task, w.Final, w.Params = "t1", true, chat.Param
			if write(t, w, "text/event-stream", 200, wordFrame, wordFrame[:40]); stream {
				_, _ = w.Cut(conversation.Unreadable())
			}
			w.Release()

			w, under := chatting(t)
			write(t, w, "text/event-stream", 200, wordFrame, lastFrame)
			if err := w.End(); err != nil {
				t.Fatal(err)
			}
			if got := under.Body.String(); strings.Count(got, "word") != 1 || !strings.HasSuffix(got, "data: [DONE]\n\n") ||
				under.Header().Get("Sluice-Task") != "" {
				t.Errorf("%v: %s", under.Header(), got)
			}
			w.Release()
		}
	}
}

// stingy is a budget of this many bytes.
type stingy int64

func (s *stingy) Take(n int64) bool { *s -= stingy(n); return *s >= 0 }

// An answer of more than 4 MiB takes twice its length from the budget, and is dropped where that is too much.
func TestLongAnswersTakeMemory(t *testing.T) {
	piece := strings.Repeat("x", 1<<20)
	for budget, lost := range map[stingy]bool{12 << 20: false, 9 << 20: true} {
		w, _ := chatting(t)
		w.Memory = &budget
		write(t, w, "application/json", 200, piece, piece, piece, piece, piece)
		if _, ok := w.Native(); w.Lost() != lost || ok == lost {
			t.Errorf("lost %t with %d bytes left, want %t", w.Lost(), budget, lost)
		}
		w.Release()
	}
}

// answering is a chat's dialect.
func answering(t *testing.T) conversation.Dialect {
	t.Helper()
	r, err := chat.Read([]byte(`{"model":"llm-max","messages":[]}`), new(conversation.Models))
	if err != nil {
		t.Fatal(err)
	}
	return r.Dialect
}

// The error of a stream that has failed ends the client's answer, or is all of it: it is flushed, and nothing follows it.
func TestNothingFollowsTheErrorOfAStream(t *testing.T) {
	const failure, broken = "event:error\n:HTTP_STATUS/500\ndata:{\"code\":\"a\"}\n\n", "data:{\n\n"
	for frame, told := range map[string]bool{failure: true, broken: false, wordFrame + wordFrame + failure: true,
		wordFrame + wordFrame + broken: false} {
		begun := strings.HasPrefix(frame, wordFrame)
		w, under := chatting(t)
		w.form.Ping = "event: ping\n\n"
		heard, within := false, false
		w.Judge = func(r *conversation.Refusal, inside bool) { heard, within = r.Told, inside }
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_, first := w.Write([]byte(frame))
		answer, flushed := under.Body.String(), under.Flushed
		_, second := w.Write([]byte(wordFrame))
		if !errors.Is(first, ErrAnswered) || !errors.Is(second, ErrAnswered) || Ping(w) != nil || w.End() != nil || !flushed ||
			under.Body.String() != answer || !Answered(w) || heard != told || within != begun || strings.Contains(answer, "word") != begun ||
			!strings.Contains(answer, `"error"`) || (under.Header().Get("X-Should-Retry") == "") != (told || begun) {
			t.Errorf("%q: %v, %v, flushed %t, told %t, %v %s", frame, first, second, flushed, heard, under.Header(), under.Body)
		}
	}
}

// A library is asked not to repeat a request whose work was counted and failed, but a refusal it may.
func TestErrorsOfCountedWorkAreNotRepeated(t *testing.T) {
	for _, c := range []struct {
		status  int
		counted bool
		final   bool
	}{{429, true, false}, {500, false, false}, {500, true, true}} {
		w, under := chatting(t)
		w.Counted = func() bool { return c.counted }
		write(t, w, "application/json", c.status, `{"code":"a","message":"b"}`)
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
		if h := under.Header(); (h.Get("X-Should-Retry") == "false") != c.final {
			t.Errorf("%+v: %v", c, h)
		}
	}
}

// A client that hears nothing because what the service says is kept is told that the stream goes on.
func TestAStreamThatKeepsWhatItReadsPings(t *testing.T) {
	now := time.Unix(1, 0)
	under := httptest.NewRecorder()
	w := NewWriter(under, "7f3c", Form{IDHeader: "Request-Id", Ping: "event: ping\n\n", Now: func() time.Time { return now }})
	w.Chat(new(messages.Answer), conversation.Head{ID: "7f3c"}, true)
	call := func(index int, piece string) string {
		return fmt.Sprintf(`data:{"output":{"choices":[{"message":{"tool_calls":[{"index":%d,"id":"c","function":{"name":"f",`+
			`"arguments":%q}}]},"finish_reason":"null"}]}}`+"\n\n", index, piece)
	}
	for i, step := range []struct {
		frame  string
		passed time.Duration
		pings  int
	}{
		{call(0, `{"a":`)[:40], PingTime, 0}, // nothing was sent: the answer may still be an error
		{call(0, `{"a":`)[40:], PingTime, 0},
		{call(1, `{"b":`), 0, 0},
		{call(1, `[1`), PingTime - 1, 0},
		{call(1, `,2`), 1, 1},
		{call(1, `,3`), PingTime - 1, 1},
		{call(0, `{"c":`), 1, 1}, // which is sent
		{call(1, `,4`), PingTime, 2},
	} {
		now = now.Add(step.passed)
		if write(t, w, "text/event-stream", 200, step.frame); strings.Count(under.Body.String(), "event: ping") != step.pings {
			t.Errorf("step %d: %s, want %d pings", i, under.Body, step.pings)
		}
	}
}
