package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/policy/limit"
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

// stayingOpen is a service that streams these frames and then nothing: it leaves its answer open.
func stayingOpen(frames ...string) func(*plan) {
	return func(p *plan) {
		service := fallingSilent(frames...)
		idle := p.config.IdleTimeout
		service(p)
		p.config.IdleTimeout = idle
	}
}

// The error of a stream of which the client has nothing yet is sent at once, also if the service leaves its answer open: no library waits
// for the end, on the same connection or another. What the error counts is charged, and an answer that may be charged is not repeated.
func TestFrontStreamsThatFailFirstAreAnsweredAtOnce(t *testing.T) {
	const usage = `,"usage":{"input_tokens":9000,"output_tokens":1}`
	begun := strings.Replace(nativeFrame("", "null"), "]}}", "]}"+usage+"}", 1)
	counts := strings.Replace(errorFrame("500", "Odd"), "}\n", usage+"}\n", 1)
	for about, c := range map[string]struct {
		frames []string
		status int
		final  bool
		tokens int64 // that are charged; negative: an estimate
	}{
		"a refusal":                       {[]string{errorFrame("429", "Throttling.RateQuota")}, 429, false, 0},
		"an error that counts nothing":    {[]string{errorFrame("500", "Odd")}, 500, false, 0},
		"an error that counts":            {[]string{counts}, 500, true, 9001},
		"an error after a frame's counts": {[]string{begun, errorFrame("500", "Odd")}, 500, true, 9001},
		"a frame that cannot be read":     {[]string{"data:{\n\n"}, 502, true, -1},
		"one after a frame's counts":      {[]string{begun, "data:{\n\n"}, 502, true, 9001},
	} {
		for _, path := range []string{frontChats, frontResponses, frontMessages} {
			t.Run(about+" "+path, func(t *testing.T) {
				parallel(t)
				h := fronted(t, stayingOpen(c.frames...))
				h.gateway.SetDrainTime(500 * time.Millisecond)
				body := map[string]string{frontChats: frontChat, frontResponses: frontResponse, frontMessages: frontMessage}[path]
				for n := range 3 { // the second on the connection of the first, and the third leaves with its answer
					begun := time.Now()
					r := h.request("POST", path, strings.Replace(body, "{", `{"stream":true,`, 1))
					r.Close = n == 2
					got := h.send(r)
					if final := got.header.Get("X-Should-Retry") == "false"; got.status != c.status || got.err != nil || final != c.final ||
						!strings.Contains(got.body, `"error"`) || time.Since(begun) > 15*time.Second {
						t.Errorf("%d %v %v after %v: %s", got.status, got.header, got.err, time.Since(begun), got.body)
					}
					record := h.records.await(t, n+1)[n]
					tokens := record.Cost.Amounts[limit.Tokens]
					if record.Status != c.status || record.BytesOut != int64(len(got.body)) || (record.Refusal != "") != (c.status == 502) ||
						c.tokens >= 0 && tokens != c.tokens {
						t.Errorf("record %+v", record)
					}
				}
			})
		}
	}
}

// A request need not wait while the rest of an answer before it is read for its costs: a connection on which that may take long ends with
// the answer, and others stay.
func TestFrontStreamsThatCannotBeReadDelayNobody(t *testing.T) {
	for frame, closes := range map[string]bool{"data:{\n\n": true, errorFrame("500", "Odd"): false} {
		over := make(chan struct{})
		h := fronted(t, func(p *plan) {
			p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, frame)
				_ = http.NewResponseController(w).Flush()
				<-over
			})
		})
		for range 2 {
			begun := time.Now()
			resp, err := h.client.Do(h.request("POST", frontChats, frontStream))
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if took := time.Since(begun); err != nil || resp.StatusCode < 500 || resp.Close != closes || took > 15*time.Second {
				t.Errorf("%q: %d after %v, closes %t, %v", frame, resp.StatusCode, took, resp.Close, err)
			}
		}
		close(over)
		h.records.await(t, 2)
	}
	h := fronted(t, answering(200, `{"output":{"choices":[]}}`)) // this was read to its end
	resp, err := h.client.Do(h.request("POST", frontChats, frontChat))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 502 || resp.Close {
		t.Errorf("%d, closes %t", resp.StatusCode, resp.Close)
	}
}

// The error inside a stream ends the answer soon, also if the service leaves its own open, and the silence after it is no fault. A key that
// the service refuses there is the gateway's.
func TestFrontStreamsThatFailLaterEndSoon(t *testing.T) {
	const usage = `,"usage":{"input_tokens":9000,"output_tokens":2}`
	one, two := nativeFrame("one", "null"), strings.Replace(nativeFrame(" two", "null"), "]}}", "]}"+usage+"}", 1)
	for failure, refused := range map[string]string{
		errorFrame("500", "Odd"): "", errorFrame("401", "InvalidApiKey"): "forward/key", "data:{\n\n": "forward/answer",
	} {
		for _, path := range []string{frontChats, frontResponses, frontMessages} {
			t.Run(refused+path, func(t *testing.T) {
				parallel(t)
				h := fronted(t, stayingOpen(one, two, failure))
				if refused == "forward/answer" { // what it costs may still come
					h.gateway.SetDrainTime(500 * time.Millisecond)
				}
				body := map[string]string{frontChats: frontChat, frontResponses: frontResponse, frontMessages: frontMessage}[path]
				begun := time.Now()
				got := h.ask("POST", path, strings.Replace(body, "{", `{"stream":true,`, 1))
				if got.status != 200 || got.err != nil || !strings.Contains(got.body, " two") || !strings.Contains(got.body, `"error"`) ||
					strings.Contains(got.body, "InvalidApiKey") || strings.Contains(got.body, "authentication") ||
					time.Since(begun) > 15*time.Second {
					t.Errorf("%d %v after %v: %s", got.status, got.err, time.Since(begun), got.body)
				}
				record := h.recordOf(t, got)
				if record.Status != 200 || record.Refusal != refused || (record.Reason != "") != (refused != "") ||
					record.BytesOut != int64(len(got.body)) || record.Cost.Amounts[limit.Tokens] != 9002 {
					t.Errorf("record %+v", record)
				}
			})
		}
	}
}

// A client of a stream learns when to try again, too. Where only a payment or the reset of a quota helps, that is minutes.
func TestRefusalsOfTheServiceSayWhenToRetry(t *testing.T) {
	for _, c := range []struct {
		status      int
		code        string
		least, most int // seconds; 0: none
	}{
		{429, "Throttling.RateQuota", 1, 2}, {503, "Odd", 1, 2}, {500, "Odd", 0, 0}, {400, "Arrearage", 0, 0},
		{429, "Throttling.AllocationQuota", 300, 360}, {429, "CommodityNotPurchased", 300, 360}, {429, "PrepaidBillOverdue", 300, 360},
		{503, "PostpaidBillOverdue", 300, 360},
	} {
		whole := fmt.Sprintf(`{"code":%q,"message":"it failed"}`, c.code)
		for about, service := range map[string]func(*plan){
			"whole": answering(c.status, whole), "stream": streaming(false, errorFrame(strconv.Itoa(c.status), c.code)),
		} {
			t.Run(fmt.Sprint(about, c.status, c.code), func(t *testing.T) {
				h := fronted(t, service)
				asked := map[string]string{frontChats: frontChat, frontResponses: frontResponse, frontMessages: frontMessage}
				if about == "whole" {
					asked[textPath] = textBody
				}
				for path, body := range asked {
					if path != textPath {
						body = strings.Replace(body, "{", `{"stream":true,`, 1)
					}
					got := h.ask("POST", path, body)
					after, _ := strconv.Atoi(got.header.Get("Retry-After"))
					final := path != textPath && got.header.Get("X-Should-Retry") == "false"
					if got.status != c.status || after < c.least || after > c.most || path != textPath && final != (c.least > 60) {
						t.Errorf("%s: %d, headers %v", path, got.status, got.header)
					}
				}
			})
		}
	}
}
