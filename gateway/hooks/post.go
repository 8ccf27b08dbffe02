package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/event"
)

// Bounds of one try.
const (
	patience   = 10 * time.Second // for the whole try; less than [event.Seat]
	mostAnswer = 4 << 10          // bytes of an answer that are read
	perHook    = event.InFlight   // tries of a hook at a time
	perHost    = 32               // tries at a time of all hooks with one host: each team has a hook of the defaults
	inAll      = 256              // tries at a time
	idleFor    = 30 * time.Second // a connection that is not used
)

// PosterConfig has the settings of a Poster.
type PosterConfig struct {
	// Secret reads the file of a secret. It is read at each try, so that new content is used at once.
	Secret   func(path string) (upstream.Secret, error)
	Networks []netip.Prefix // where hooks may be, beside public addresses; may be empty
	Now      func() time.Time

	Resolver *net.Resolver    // nil: the system's
	Tunnel   *upstream.Tunnel // the outbound proxy; nil: none, and the system's root certificates
}

// Poster posts events to hooks. It is safe for concurrent use.
type Poster struct {
	config    PosterConfig
	transport http.RoundTripper // it follows no redirect, and its errors are not shown: some quote the answer
}

// NewPoster builds a Poster. It connects to nothing and starts nothing.
func NewPoster(config PosterConfig) *Poster {
	transport := upstream.Guarded(upstream.Guard{Networks: config.Networks, Resolver: config.Resolver, Tunnel: config.Tunnel})
	transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = perHook, idleFor
	return &Poster{config, transport}
}

// Answer is what a receiver answered.
type Answer struct {
	Code int    // its status
	Text []byte // the beginning of its body, at most 4 KiB; never for a team
}

// Post tries once, within 10 s, to post an event to a target of a hook. Its error says why no answer came, in fixed
// words: it quotes neither the path of the address, which may be a secret, nor the answer.
func (p *Poster) Post(ctx context.Context, h *event.Hook, e *event.Event, path string) (a Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := p.request(ctx, h, e, path)
	if err != nil {
		return a, err
	}
	answer, err := p.transport.RoundTrip(request)
	if err != nil {
		return a, why(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	a.Code = answer.StatusCode
	a.Text, _ = io.ReadAll(io.LimitReader(answer.Body, mostAnswer)) // the status is the answer
	return a, nil
}

// request returns the request of a try. Its URL is judged again: it may have been written for another version.
func (p *Poster) request(ctx context.Context, h *event.Hook, e *event.Event, path string) (*http.Request, error) {
	if !event.IsHookURL(h.URL, h.Insecure) {
		return nil, errors.New("its url is not an address for a hook")
	}
	body, err := bodyOf(h, e)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.At(path), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its url and the path of the callback do not form an address")
	}
	if odd(request.URL.Hostname()) {
		return nil, errOdd
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "sluice")
	if h.Kind == event.Slack {
		return request, nil
	}
	keys, err := p.keys(h)
	if err != nil {
		return nil, err
	}
	id, at := e.ID.String(), stamp(p.config.Now())
	request.Header.Set(headerID, id)
	request.Header.Set(headerTimestamp, at)
	request.Header.Set(headerSignature, signature(keys, id, at, body))
	return request, nil
}

// bodyOf is the body that a hook gets for an event: its exact bytes, or a sentence.
func bodyOf(h *event.Hook, e *event.Event) ([]byte, error) {
	if h.Kind != event.Slack {
		return e.Bytes(), nil
	}
	return json.Marshal(struct {
		Text string `json:"text"`
	}{Sentence(e)})
}

func (p *Poster) keys(h *event.Hook) (keys [][]byte, err error) {
	for i, path := range h.Secrets {
		secret, err := p.config.Secret(path)
		if err == nil {
			var key []byte
			key, err = keyOf(secret)
			keys = append(keys, key)
		}
		if err != nil {
			return nil, fmt.Errorf("secret %d: %w", i+1, err)
		}
	}
	return keys, nil
}
