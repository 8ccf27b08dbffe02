package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// errorFrame is a frame of the service that reports an error.
func errorFrame(status, code string) string {
	return fmt.Sprintf("event:error\n:HTTP_STATUS/%s\ndata:{\"code\":%q,\"message\":\"it failed\"}\n\n", status, code)
}

// The status of an error frame is the client's only if it is one of an error.
func TestFrontErrorFramesHaveTheStatusOfAnError(t *testing.T) {
	for said, want := range map[string]int{
		"400": 400, "599": 599, "0": 500, "-1": 500, "99": 500, "200": 500, "600": 500, "1000": 500, "99999999999999999999": 500, "x": 500,
	} {
		t.Run(said, func(t *testing.T) {
			h := fronted(t, streaming(false, errorFrame(said, "Odd")))
			got := h.ask("POST", frontChats, frontStream)
			if record := h.recordOf(t, got); got.status != want || record.Status != want || h.gateway.BodiesInMemory() != 0 {
				t.Errorf("%d %s, record %+v, %d bytes are held", got.status, got.body, record, h.gateway.BodiesInMemory())
			}
		})
	}
}

// A fault of the gateway while a front's answer ends is logged and recorded, and the request's slot and memory are free again. A client
// that has read nothing of its answer learns of the fault.
func TestFrontAnswersThatPanicAtTheirEndLeakNothing(t *testing.T) {
	for _, path := range []string{frontChats, frontResponses, frontMessages} {
		for _, at := range []string{"header", "write", "stream"} {
			body := map[string]string{frontChats: frontChat, frontResponses: frontResponse, frontMessages: frontMessage}[path]
			if at == "stream" {
				body = strings.Replace(body, "{", `{"stream":true,`, 1)
			}
			t.Run(path+" "+at, func(t *testing.T) {
				h := fronted(t, limited("concurrent: 1"), func(p *plan) {
					p.wrap = func(next http.Handler) http.Handler {
						return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
							if r.Header.Get("X-Break") != "" {
								w = &fragileWriter{ResponseWriter: w, at: at}
							}
							next.ServeHTTP(w, r)
						})
					}
				})
				resp, err := h.client.Do(h.request("POST", path, body, "X-Break", "1"))
				if err == nil {
					_, err = io.ReadAll(resp.Body)
				}
				if failed := resp != nil && resp.StatusCode == http.StatusInternalServerError; err == nil && !failed {
					t.Error("a cut answer looks whole")
				}
				record := h.records.await(t, 1)[0]
				if record.Refusal != "observe/panic" || h.gateway.BodiesInMemory() != 0 || h.gateway.BuffersLent() != 0 {
					t.Errorf("record %+v, %d bytes are held, %d lent", record, h.gateway.BodiesInMemory(), h.gateway.BuffersLent())
				}
				if log := h.log.String(); strings.Count(log, `"level":"ERROR","msg":"panic"`) == 0 || !strings.Contains(log, record.ID) {
					t.Errorf("the log is %s", log)
				}
				if next := h.ask("POST", path, body); next.status != http.StatusOK {
					t.Errorf("the next request: %d %s", next.status, next.body)
				}
			})
		}
	}
}

// fragileWriter panics at the header, or at each write of a body; at a stream, from its second write.
type fragileWriter struct {
	http.ResponseWriter
	at     string
	writes int
}

func (w *fragileWriter) WriteHeader(status int) {
	if w.at == "header" {
		panic("canary")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *fragileWriter) Write(p []byte) (int, error) {
	if w.writes++; w.at == "write" || w.writes > 1 {
		panic("canary")
	}
	return w.ResponseWriter.Write(p)
}

func (w *fragileWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
