package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of one download, and of all.
const (
	longest      = 60 * time.Second // from the first byte sent to the last one read
	largest      = 32 << 20         // bytes of a picture
	together     = 8                // downloads at a time; more wait
	inside       = 256              // downloads, including those that wait and those whose readers stall; more are refused
	moment       = time.Second      // how long a reader may stall and keep its place
	piece        = 64 << 10         // bytes that are read and written at a time
	maxRedirects = 2
	connectFor   = 5 * time.Second // TLS not included
)

// Errors that say why a picture was not downloaded, to be found with [errors.Is]. No error quotes an address: it may be signed.
var (
	ErrOff      = errors.New("no host is listed")
	ErrAddress  = errors.New("the address of the picture is not allowed")
	ErrStatus   = errors.New("the host did not answer with 200")
	ErrNoImage  = errors.New("the answer is not an image")
	ErrTooLarge = errors.New("the picture is larger than 32 MiB")
	ErrBusy     = errors.New("256 pictures are being fetched")
)

// FetchConfig says which pictures may be fetched.
type FetchConfig struct {
	Hosts    []Host         // from which pictures may be fetched; empty: none
	Networks []netip.Prefix // further networks that hosts may be in, such as 10.0.0.0/8; empty: only public addresses

	Resolver *net.Resolver // nil: the system's
	Tunnel   *Tunnel       // the outbound proxy; nil: none, and the system's root certificates
}

// Fetcher downloads result pictures from the hosts that an operator lists, and from no address inside the operator's networks.
// The addresses of pictures come from the service's answers, so they are untrusted. It keeps nothing and decides nothing about
// teams. It is safe for concurrent use.
type Fetcher struct {
	hosts  []Host
	client *http.Client
	slots  chan struct{}
	inside atomic.Int64 // downloads, including those that wait
	bounds bounds
}

// bounds are the constants, which tests lower.
type bounds struct {
	longest time.Duration
	largest int64
	inside  int64
	moment  time.Duration
}

// NewFetcher builds a Fetcher. It connects to nothing and starts nothing.
func NewFetcher(config FetchConfig) *Fetcher {
	f := &Fetcher{hosts: config.Hosts, slots: make(chan struct{}, together), bounds: bounds{longest, largest, inside, moment}}
	transport := Guarded(Guard{config.Networks, config.Resolver, config.Tunnel})
	transport.DisableKeepAlives = true // pictures are large and hosts many
	f.client = &http.Client{CheckRedirect: f.redirect, Transport: transport}
	return f
}

// Allowed reports whether any host is listed.
func (f *Fetcher) Allowed() bool { return len(f.hosts) > 0 }

// Copy downloads a picture into w in pieces of 64 KiB and returns its media type, detected from its first bytes. It waits for one
// of the 8 places until ctx ends; a reader that does not read for a second gives up its place until it does. Before the first
// write it checks the address, the status, the type and the announced length; after an error w may have a part of the picture.
func (f *Fetcher) Copy(ctx context.Context, w io.Writer, address string) (contentType string, err error) {
	if !f.Allowed() {
		return "", ErrOff
	}
	u, err := f.judge(address)
	if err != nil {
		return "", err
	}
	place, err := f.enter(ctx, w)
	if err != nil {
		return "", err
	}
	defer place.leave()
	ctx, cancel := context.WithTimeout(ctx, f.bounds.longest)
	defer cancel()
	place.ctx = ctx
	answer, err := f.ask(ctx, u)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	contentType, err = f.copy(place, answer)
	if ended := ctx.Err(); ended != nil {
		err = ended // a host that sees the connection end may end its answer early, and it may be read as if it were whole
	}
	return contentType, err
}

// ask sends the request and follows redirects.
func (f *Fetcher) ask(ctx context.Context, u *url.URL) (*http.Response, error) {
	request := (&http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host,
		Header: http.Header{"User-Agent": {"sluice"}, "Accept": {"image/*"}},
	}).WithContext(ctx)
	answer, err := f.client.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the wrapping quotes the address
	}
	return answer, err
}

// redirect judges the next address as it judged the first.
func (f *Fetcher) redirect(next *http.Request, before []*http.Request) error {
	next.Header.Del("Referer") // it would show a signed address to another host
	if len(before) > maxRedirects {
		return fmt.Errorf("%w: more than %d redirects", ErrAddress, maxRedirects)
	}
	return f.judgeURL(next.URL)
}

// buffers are reused: a download allocates no picture.
var buffers = sync.Pool{New: func() any { return new([piece]byte) }}

// copy writes the answer's body in pieces. The type is detected from the first piece.
func (f *Fetcher) copy(w io.Writer, answer *http.Response) (contentType string, err error) {
	switch {
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%w but %d", ErrStatus, answer.StatusCode)
	case answer.ContentLength > f.bounds.largest:
		return "", ErrTooLarge
	}
	buf := buffers.Get().(*[piece]byte)
	defer buffers.Put(buf)
	var size int64
	for ended := false; !ended; {
		n, err := fill(answer.Body, buf[:])
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		ended = err != nil
		if contentType == "" {
			contentType = http.DetectContentType(buf[:n])
		}
		size += int64(n)
		switch {
		case !strings.HasPrefix(contentType, "image/"):
			return "", ErrNoImage
		case size > f.bounds.largest:
			return "", ErrTooLarge
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return "", err
		}
	}
	return contentType, nil
}

// fill reads until buf is full or the body ends. Unlike [io.ReadFull] it distinguishes an end from a body that was cut.
func fill(body io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = body.Read(buf[n:])
		n += more
	}
	return n, err
}

// place is the right to download. A download gives its place back while its reader is slow, so that other downloads can go on, and
// then waits for another place.
type place struct {
	fetcher *Fetcher
	ctx     context.Context // ends the wait for a place
	to      io.Writer
	held    bool
}

// enter waits for a place. It refuses if too many downloads are under way. The place MUST be left, once.
func (f *Fetcher) enter(ctx context.Context, to io.Writer) (*place, error) {
	p := &place{fetcher: f, ctx: ctx, to: to}
	err := ErrBusy
	if f.inside.Add(1) <= f.bounds.inside {
		err = p.take()
	}
	if err != nil {
		p.leave()
		return nil, err
	}
	return p, nil
}

func (p *place) take() error {
	select {
	case p.fetcher.slots <- struct{}{}:
		p.held = true
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

func (p *place) leave() {
	if p.held {
		<-p.fetcher.slots
	}
	p.fetcher.inside.Add(-1)
}

// Write writes to the reader. It gives the place back if the write takes longer than a moment.
func (p *place) Write(b []byte) (int, error) {
	stalls := time.AfterFunc(p.fetcher.bounds.moment, func() { <-p.fetcher.slots })
	n, err := p.to.Write(b)
	if stalls.Stop() {
		return n, err
	}
	p.held = false
	if err == nil {
		err = p.take()
	}
	return n, err
}
