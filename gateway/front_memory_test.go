package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/telemetry"
)

// Edits that wait for their task hold none of the memory for bodies, also where they are traced.
func TestFrontWaitsWithoutTheBody(t *testing.T) {
	for _, capture := range []bool{false, true} {
		t.Run(fmt.Sprint("capture ", capture), func(t *testing.T) {
			const count = 6
			var made atomic.Int64
			h := painting(t, func(p *plan) {
				p.telemetry = telemetry.Config{Capture: capture}
				p.config.MaxBody, p.config.BodyBudget = 1<<20, 4<<20 // half of it is the team's: room for one edit
				p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
					if r.Method == http.MethodPost {
						id = fmt.Sprint("t", made.Add(1))
					}
					w.Header().Set("Content-Type", "application/json")
					_, _ = fmt.Fprintf(w, `{"request_id":"r","output":{"task_id":"%s","task_status":"RUNNING"}}`, id)
				})
			})
			body, kind := form(t, "one", "model", "gen2.6-image", "prompt", "Winter")
			body = strings.Replace(body, "\r\n--one--", strings.Repeat("\x00", 3<<18)+"\r\n--one--", 1)
			ctx, leave := context.WithTimeout(t.Context(), 3*time.Minute) // only a failing test takes as long
			var all sync.WaitGroup
			for range count {
				all.Go(func() {
					for status := http.StatusServiceUnavailable; status == http.StatusServiceUnavailable; { // the edit before may not wait yet
						resp, err := h.client.Do(h.request("POST", frontEdits, body, "Content-Type", kind).WithContext(ctx))
						if err != nil {
							return
						}
						status = resp.StatusCode
						_ = resp.Body.Close()
						time.Sleep(100 * time.Millisecond) // each try sends 768 KiB
					}
				})
			}
			for made.Load() < count && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			leave()
			all.Wait()
			if n := made.Load(); n != count {
				t.Errorf("%d of %d edits found memory", n, count)
			}
		})
	}
}

// A form is held together with the service's request, which has its pictures as Base64. If both can never fit into the team's half of
// the budget, the client is not asked to repeat the request.
func TestFrontFormsThatNeverFit(t *testing.T) {
	h := painting(t, func(p *plan) { p.config.MaxBody, p.config.BodyBudget = 1<<20, 2<<20 })
	for pictures, status := range map[int]int{6: http.StatusOK, 14: http.StatusRequestEntityTooLarge} { // of 64 KiB each
		body, kind := form(t, "one", "model", "gen2.6-image", "prompt", "Winter")
		body = strings.Replace(body, "\r\n--one--", strings.Repeat("\x00", pictures<<16)+"\r\n--one--", 1)
		got := h.ask("POST", frontEdits, body, "Content-Type", kind)
		if got.status != status {
			t.Errorf("%d: %d %s", pictures, got.status, got.body)
		}
		if status != http.StatusOK && (got.header.Get("Sluice-Refusal") != "inspect/large" || !strings.Contains(got.body, "together 21")) {
			t.Errorf("%v %s", got.header, got.body)
		}
	}
	h.records.await(t, 2) // a client has its answer before the request ends
	if n := h.gateway.BodiesInMemory(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// While the service works on a chat, the budget has what was sent to it, and no longer what the client sent.
func TestFrontChatsHoldOneBody(t *testing.T) {
	hold := make(chan struct{})
	var asked atomic.Int64
	h := fronted(t, func(p *plan) {
		p.config.MaxBody, p.config.BodyBudget = 4<<20, 16<<20 // half of it is the team's
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if asked.Add(1) == 1 {
				<-hold
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"output":{"choices":[{"message":{"role":"assistant","content":"%d"},"finish_reason":"stop"}]}}`, len(body))
		})
	})
	long := strings.Replace(frontChat, `"content":"`, `"content":"`+strings.Repeat("x", 5<<19), 1)
	first := make(chan reading, 1)
	go func() { first <- h.ask("POST", frontChats, long) }()
	for asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if second := h.ask("POST", frontChats, long); second.status != http.StatusOK {
		t.Errorf("%d %s", second.status, second.body)
	}
	close(hold)
	if got := <-first; got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// An answer that is no stream is held to be translated. Above a few MiB it takes memory from the budget, and is refused if there is
// none: it is charged, and a repetition would be charged again.
func TestFrontLongAnswersTakeFromTheBudget(t *testing.T) {
	for _, tt := range []struct {
		mib    int
		status int
	}{{3, http.StatusOK}, {6, http.StatusOK}, {12, http.StatusBadGateway}} {
		t.Run(fmt.Sprint(tt.mib, " MiB"), func(t *testing.T) {
			h := fronted(t, func(p *plan) {
				p.config.MaxBody, p.config.BodyBudget = 4<<20, 32<<20 // half of it is the team's
				p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"output":{"choices":[{"message":{"role":"assistant","content":"`)
					for range tt.mib {
						_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
					}
					_, _ = io.WriteString(w, `"},"finish_reason":"stop"}]},"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}`)
				})
			})
			got := h.ask("POST", frontChats, frontChat)
			record := h.recordOf(t, got)
			if got.status != tt.status || record.Status != tt.status || record.Cost.Amounts[limit.Tokens] != 7 ||
				record.Cost.Flag != telemetry.FlagExact {
				t.Errorf("%d with %d bytes, status %d, cost %+v", got.status, len(got.body), record.Status, record.Cost)
			}
			if tt.status == http.StatusBadGateway {
				got.wantsOpenAI(t, tt.status, "server_error", "InternalError", "")
				if got.header.Get("X-Should-Retry") != "false" || got.header.Get("Sluice-Refusal") != "forward/answer" ||
					record.Refusal != "forward/answer" {
					t.Errorf("refused by %s, headers %v", record.Refusal, got.header)
				}
			}
		})
	}
}

// Requests that follow each other on one memory, streams that are cut among them, get nothing of each other.
func TestFrontMemoryIsNotShared(t *testing.T) {
	h := fronted(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mark := string(body[bytes.Index(body, []byte("mark-")):][:6])
			answer := fmt.Sprintf(`{"output":{"choices":[{"message":{"role":"assistant","content":"%s%%d"},"finish_reason":"%%s"}]},`+
				`"usage":{"input_tokens":1,"output_tokens":%%[1]d}}`, mark)
			if !strings.Contains(string(body), `"incremental_output":true`) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, answer, 9, "stop")
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 9 {
				_, _ = fmt.Fprintf(w, "id:%d\ndata:"+answer+"\n\n", i, i, "null")
			}
			if mark == "mark-0" {
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			_, _ = fmt.Fprintf(w, "data:"+answer+"\n\n", 9, "stop")
		})
	})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			mark := fmt.Sprint("mark-", i)
			for j := range 12 {
				body := strings.Replace(frontChat, "rivers", mark, 1)
				if j%3 > 0 {
					body = strings.Replace(body, "{", `{"stream":true,`, 1)
				}
				got := h.ask("POST", frontChats, body)
				if n := strings.Count(got.body, mark); strings.Count(got.body, "mark-") != n ||
					strings.Count(got.body, `"object":"chat.completion`) != n || n != []int{1, 10, 10}[j%3] && i > 0 {
					t.Errorf("%s: %d of it in %d, %v %s", mark, n, got.status, got.err, got.body)
				}
			}
		})
	}
	all.Wait()
}
