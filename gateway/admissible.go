package gateway

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sluice/gateway/upstream"
	"sluice/policy"
)

const (
	// wholeAnswer bounds the answers that are read whole: task answers and errors. The service's are a few KB.
	wholeAnswer = 4 << 20
	// longestAnswer bounds an answer that is no stream. It is passed on as it comes, so this is about endless answers.
	longestAnswer = 256 << 20
)

// admissible turns upstream's answer into one that a team may see, or says why it is none. Only what is named here
// passes: the copy carries no trailers, which upstream could fill in after the header was judged.
func (u *transport) admissible(answer *http.Response, c *call) (*http.Response, error) {
	if err := u.fault(answer); err != nil {
		c.fault = asRefusal(err).name
		c.exchange.Abandon()
		return nil, err
	}
	if c.route.endpoint != policy.EndpointTasks { // a task's usage is its creation's, however often it is asked for
		c.measure(answer.Header)
	}
	kept := &http.Response{
		StatusCode: answer.StatusCode, Header: inbound(answer.Header), ContentLength: answer.ContentLength, Body: answer.Body,
		Proto: answer.Proto, ProtoMajor: answer.ProtoMajor, ProtoMinor: answer.ProtoMinor, Request: answer.Request,
	}
	streams := isStream(kept.Header)
	setLength(kept)
	switch {
	case kept.StatusCode >= http.StatusBadRequest:
		return kept, u.coverError(kept)
	case streams:
		kept.Body = upstream.NewStream(answer.Body, u.gateway.upstreamKey.Load(), u.gateway.watch(c))
	case c.creates && c.route.prefix:
		return kept, u.gateway.claimForwarded(kept, c)
	case c.creates:
		return kept, u.gateway.claimWhole(kept, c)
	default:
		kept.Body = &bounded{ReadCloser: answer.Body, left: longestAnswer}
	}
	return kept, nil
}

// fault names what makes an answer unfit for any team.
func (u *transport) fault(answer *http.Response) error {
	broken := func(err error) error {
		return refuse(refuseAnswer).say("The service's answer could not be used.").because(err)
	}
	switch {
	case answer.StatusCode == http.StatusSwitchingProtocols:
		return broken(errUpgraded)
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return broken(errRedirected) // following it would hand the key to another host
	case answer.StatusCode == http.StatusUnauthorized:
		u.gateway.alarm(alarmKeyRefused, errOurKey.Error())
		return refuse(refuseOurKey).say("The service refused the gateway's key; its operators have been told.").because(errOurKey)
	case slices.ContainsFunc(answer.Header["Content-Encoding"], compressed):
		return broken(errEncoded)
	}
	return nil
}

// compressed reports whether one value of Content-Encoding says more than that the bytes are as they are.
func compressed(encoding string) bool {
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}

// coverError reads an error whole, because upstream's text may quote the key or name its hosts.
func (u *transport) coverError(answer *http.Response) error {
	text, err := readWhole(answer)
	if err != nil {
		return err
	}
	u.gateway.upstreamKey.Load().Redact(text)
	return nil
}

// readWhole reads an answer into memory and gives it a body that can be read again.
func readWhole(answer *http.Response) ([]byte, error) {
	defer func(b io.Closer) { _ = b.Close() }(answer.Body)
	text, err := io.ReadAll(io.LimitReader(answer.Body, wholeAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(text) > wholeAnswer {
		return nil, refuse(refuseAnswer).say("The service's answer was too long.")
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	setLength(answer)
	return text, nil
}

// setLength says the body's length where it is known, so that the client's answer is framed as upstream's was.
func setLength(answer *http.Response) {
	if answer.ContentLength >= 0 {
		answer.Header["Content-Length"] = []string{strconv.FormatInt(answer.ContentLength, 10)}
	}
}

func isStream(h http.Header) bool {
	media, _, _ := strings.Cut(first(h["Content-Type"]), ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

// bounded ends an endless answer with an error, so that the client sees a cut and not a whole answer.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, refuse(refuseAnswer)
	}
	return n, err
}
