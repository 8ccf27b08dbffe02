package ingress

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// reach tests whether Sluice answers, and recognizes the proxy in front of it.
func (t *trial) reach(ctx context.Context) Finding {
	f := Finding{What: "reached"}
	answer, err := t.send(t.request(ctx, http.MethodGet, echoPath, ""), answerFor)
	if err != nil {
		return f.failed(err, "")
	}
	t.kind = kindOf(answer.header)
	f.What = fmt.Sprintf("reached over %s, through %s", answer.proto, t.kind)
	switch {
	case refusalIn(answer.header) == "authenticate/key":
		f.Fault = "Sluice does not know the key"
	case !isOurs(answer.header):
		f.Fault = fmt.Sprintf("the answer, with status %d, is not Sluice's", answer.status)
	case refusalIn(answer.header) == "route/path":
		f.Fault = "Sluice has no such path; give its address without /api/v1 or /v1"
	case answer.status != http.StatusOK || json.Unmarshal(answer.text, &t.seen) != nil:
		f.Fault = fmt.Sprintf("Sluice answered with %d %s", answer.status, refusalIn(answer.header))
	}
	return f
}

// forwarded tests whether Sluice learns the client's address. Without a proxy that is no fault.
func (t *trial) forwarded(context.Context) Finding {
	f := Finding{What: "client's address: " + t.seen.Client}
	switch {
	case t.seen.Forwarded && !t.seen.Trusted:
		f.Fault, f.Cure = "Sluice does not trust what said so in X-Forwarded-For", "SLUICE_TRUSTED_PROXIES to its address, "+t.seen.Client
	case !t.seen.Forwarded && t.kind != unknown:
		f.Fault, f.Cure = "nothing says in X-Forwarded-For who the client is", t.kind.cure(faultClient)
	}
	return f
}

// headers sends a long header.
func (t *trial) headers(ctx context.Context) Finding {
	f := Finding{What: "header of 24 KiB"}
	r := t.request(ctx, http.MethodGet, echoPath, "")
	r.Header.Set("Sluice-Trial", strings.Repeat("x", headerBytes))
	answer, err := t.send(r, answerFor)
	if err != nil {
		return f.failed(err, t.kind.cure(faultHeaders))
	}
	if answer.status != http.StatusOK {
		f.Fault, f.Cure = fmt.Sprintf("refused with %d", answer.status), t.kind.cure(faultHeaders)
	}
	return f
}

// body sends a large request that Sluice reads whole and then refuses, because a member appears twice.
func (t *trial) body(ctx context.Context) Finding {
	const head, tail = `{"model":"`, `","model":""}`
	r := t.request(ctx, http.MethodPost, textPath, "")
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = largest
	r.GetBody = func() (io.ReadCloser, error) { // lets the client retry on a new connection
		return io.NopCloser(io.MultiReader(strings.NewReader(head), io.LimitReader(filler{}, largest-int64(len(head)+len(tail))),
			strings.NewReader(tail))), nil
	}
	r.Body, _ = r.GetBody()
	begun := time.Now()
	answer, err := t.send(r, 10*time.Minute)
	f := Finding{What: fmt.Sprintf("body of 64 MiB, %.1f s", time.Since(begun).Seconds())}
	switch {
	case err != nil:
		return f.failed(err, t.kind.cure(faultBody))
	case refusalIn(answer.header) == "inspect/body":
	case refusalIn(answer.header) == "inspect/large":
		f.Fault, f.Cure = "refused by Sluice", "SLUICE_MAX_BODY"
	case isOurs(answer.header):
		f.Fault = "not tried: Sluice refused it as " + refusalIn(answer.header)
	default:
		f.Fault, f.Cure = fmt.Sprintf("refused with %d before it reached Sluice", answer.status), t.kind.cure(faultBody)
	}
	return f
}

// filler is endless text.
type filler struct{}

// Read implements io.Reader.
func (filler) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// frames reads a stream with a silence inside.
func (t *trial) frames(ctx context.Context) Finding {
	f := Finding{What: fmt.Sprintf("stream with %s of silence", t.Silence)}
	ctx, cancel := context.WithTimeout(ctx, t.Silence+answerFor)
	defer cancel()
	begun := time.Now()
	answer, err := t.client.Do(t.request(ctx, http.MethodGet, echoPath, "silence="+strconv.Itoa(int(t.Silence/time.Second))))
	if err != nil {
		return f.failed(err, t.kind.cure(faultSilence))
	}
	defer func() { _ = answer.Body.Close() }()
	in := bufio.NewReader(answer.Body)
	first, err := frame(in)
	took := time.Since(begun)
	f.What = fmt.Sprintf("%s, its first frame after %d ms", f.What, took.Milliseconds())
	if err == nil {
		_, err = frame(in) // a proxy may pass on what came with the header, and hold back the rest
		took = time.Since(begun)
	}
	rest, ended := io.ReadAll(in)
	switch {
	case !isOurs(answer.Header) || err != nil:
		f.Fault, f.Cure = fmt.Sprintf("no frame came, status %d", answer.StatusCode), t.kind.cure(faultSilence)
	case took >= min(t.Silence, late):
		f.Fault, f.Cure = "its frames were held back", t.kind.cure(faultFrames)
	case ended != nil || !strings.Contains(string(rest), first):
		f.Fault, f.Cure = fmt.Sprintf("it was cut after %.0f s", time.Since(begun).Seconds()), t.kind.cure(faultSilence)
	}
	return f
}

// frame reads a frame.
func frame(in *bufio.Reader) (string, error) {
	text, err := in.ReadString('\n')
	if err == nil {
		_, err = in.ReadString('\n') // the empty line
	}
	return text, err
}

// wait makes Sluice wait before it answers.
func (t *trial) wait(ctx context.Context) Finding {
	span := min(t.Silence, mostWait)
	f := Finding{What: fmt.Sprintf("Prefer: wait=%d", int(span/time.Second))}
	r := t.request(ctx, http.MethodGet, echoPath, "")
	r.Header.Set("Prefer", "wait="+strconv.Itoa(int(span/time.Second)))
	begun := time.Now()
	answer, err := t.send(r, span+answerFor)
	switch {
	case err != nil:
		return f.failed(err, t.kind.cure(faultSilence))
	case answer.status != http.StatusOK:
		f.Fault, f.Cure = fmt.Sprintf("answered with %d after %.0f s", answer.status, time.Since(begun).Seconds()), t.kind.cure(faultSilence)
	case answer.header.Get("Preference-Applied") == "":
		f.Fault = "the header Prefer, or the answer's Preference-Applied, does not pass"
	}
	return f
}

// retries sends a POST that is dropped, and counts how often it arrives. Each replica has its own count.
func (t *trial) retries(ctx context.Context) Finding {
	f := Finding{What: "a POST without an answer is sent once"}
	id := rand.Text()
	r := t.request(ctx, http.MethodPost, echoPath, "drop="+id)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength, r.Body = 2, io.NopCloser(strings.NewReader("{}"))
	_, _ = send(t.once, r, answerFor) // no answer, or one from the ingress
	arrived := map[string]int{}
	for range peeks {
		answer, err := t.send(t.request(ctx, http.MethodGet, echoPath, "count="+id), answerFor)
		var seen echoed
		if err == nil && json.Unmarshal(answer.text, &seen) == nil {
			arrived[seen.Replica] = seen.Arrived
		}
	}
	sum := 0
	for _, times := range arrived {
		sum += times
	}
	switch {
	case sum == 0:
		f.Fault = "it did not arrive, or at a replica that did not answer"
	case sum > 1:
		f.Fault, f.Cure = fmt.Sprintf("it arrived %d times, so that a picture would be paid as often", sum), t.kind.cure(faultRetries)
	}
	return f
}

// got is an answer, with the beginning of its body.
type got struct {
	status int
	proto  string
	header http.Header
	text   []byte
}

// send sends a request and reads the beginning of its answer.
func (t *trial) send(r *http.Request, within time.Duration) (g got, err error) {
	return send(t.client, r, within)
}

func send(client *http.Client, r *http.Request, within time.Duration) (g got, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	answer, err := client.Do(r.WithContext(ctx))
	if err != nil {
		return g, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	return got{answer.StatusCode, answer.Proto, answer.Header, text}, err
}

// isOurs reports whether an answer with these headers is Sluice's.
func isOurs(h http.Header) bool { return h.Get("Sluice-Request-Id") != "" }

// refusalIn returns the refusal in Sluice's header; empty: none.
func refusalIn(h http.Header) string { return h.Get("Sluice-Refusal") }

// failed returns the finding with an error as its fault, without the address.
func (f Finding) failed(err error, cure string) Finding {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	f.Fault, f.Cure = "no answer: "+err.Error(), cure
	return f
}
