// Package simulator simulates the upstream model service without models: it answers text, multimodal chat, synchronous images,
// asynchronous image tasks and their streams in the service's own wire format, enforces the service's rules, and misbehaves on demand. It
// can have several accounts, each with its own keys, limits, tasks, faults and bill (account.go).
//
// It is for tests of the gateway over real sockets, for the demo, and for developing a client without an account. A test sets only its
// faults, not its answers. It imports nothing of the gateway, so it cannot share the gateway's reading of the specification.
//
// It promises that the same request gets the same text, that tokens are counted by one rule everywhere, that all work is recorded and
// billed whether or not the client waits for it, that its memory is bounded, and that nothing runs in the background: a task's state is
// computed from the clock when it is queried.
//
// A request becomes a call (request.go), is checked (rules*.go), becomes an answer (chat.go, images.go, tasks.go), and is sent with its
// fault (send.go).
package simulator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"sluice/gateway/simulator/billing"
)

// Simulator is the service. It is an http.Handler, safe for concurrent use.
type Simulator struct {
	cfg      Config
	accounts accounts
	ledger   *ledger
	faults   faults
	stalls   *stalls
	pictures *pictures
	tasks    *tasks
}

// New returns a running service.
func New(cfg Config) *Simulator {
	cfg = cfg.withDefaults()
	s := &Simulator{cfg: cfg, ledger: &ledger{book: billing.Book{List: cfg.Prices}}, stalls: newStalls(), pictures: newPictures()}
	s.ledger.reset()
	s.accounts = newAccounts(&s.cfg)
	s.tasks = &tasks{cfg: &s.cfg, pictures: s.pictures, ledger: s.ledger, byID: map[string]*task{}}
	return s
}

// SetKeys replaces the keys of an account (empty: billing.Account), like a rotation; none accepts every key. It panics if there is no such
// account.
func (s *Simulator) SetKeys(account string, keys ...string) {
	s.accounts.named(cmp.Or(account, billing.Account)).setKeys(keys)
}

// SetFault replaces the faults in force. The first one whose Account, On and Times match applies to a request; none makes the service
// healthy.
func (s *Simulator) SetFault(list ...Fault) { s.faults.set(list) }

// Release lets every stalled request continue. A request that arrives later stalls: call AwaitStalled first.
func (s *Simulator) Release() { s.stalls.release() }

// AwaitStalled waits until n requests are stalled at the same time. If the context ends first, it returns the context's error.
func (s *Simulator) AwaitStalled(ctx context.Context, n int) error { return s.stalls.await(ctx, n) }

// Requests returns the last received requests, oldest first. A request is recorded once its body was read.
func (s *Simulator) Requests() []Received {
	last, _ := s.ledger.list()
	return last
}

// Violations returns the first hundred requests without exactly one Authorization header, or about a task of another account, one line
// each. A test expects none.
func (s *Simulator) Violations() []string {
	_, violations := s.ledger.list()
	return violations
}

// Twice returns a line for each body that was executed more than once, with the accounts, among the requests that Requests returns. A test
// whose requests all have different bodies expects none.
func (s *Simulator) Twice() []string { return twice(s.Requests()) }

// Count returns how many requests an endpoint had from the accounts; none: from all clients.
func (s *Simulator) Count(endpoint string, accounts ...string) int {
	return s.ledger.tally(accounts).Requests[endpoint]
}

// Tally returns the sums of the accounts since the start or the last Reset; none: of all, also requests without an account. It bills tasks
// that have ended by the clock, queried or not.
func (s *Simulator) Tally(accounts ...string) Tally {
	s.tasks.settle(s.cfg.Now())
	return s.ledger.tally(accounts)
}

// Bill writes the service's bill of the accounts (none: of all) since the start or the last Reset as CSV, with the same work as Tally.
func (s *Simulator) Bill(w io.Writer, accounts ...string) error {
	s.tasks.settle(s.cfg.Now())
	return s.ledger.writeBill(w, accounts)
}

// SaveBill replaces the file by the bill of all accounts, atomically. The error names the flag --bill.
func (s *Simulator) SaveBill(file string) error {
	var text bytes.Buffer
	err := s.Bill(&text)
	if err == nil {
		err = os.WriteFile(file+".new", text.Bytes(), 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("--bill: %w", err)
	}
	return nil
}

// Reset drops requests, sums and faults. Tasks stay.
func (s *Simulator) Reset() {
	s.ledger.reset()
	s.SetFault()
}

// ServeHTTP answers as the service would.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Control && r.URL.Path == controlPath {
		s.control(w, r)
		return
	}
	c, err := receive(r, &s.cfg)
	if c.account = s.accounts.of(r.Header.Values("Authorization")); c.account != nil {
		c.Account = c.account.id
	}
	s.ledger.add(c.Received, max(s.cfg.KeepRequests, 0))
	defer s.cfg.Log("%s %s %s", r.Method, r.URL.Path, c.ID)
	var a *answer
	if err = s.admit(c, err); err == nil {
		a, err = s.work(c)
	}
	x := &exchange{call: c, ctx: r.Context(), w: w, ledger: s.ledger, stalls: s.stalls}
	if err == nil {
		x.send(a)
		return
	}
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		refused = &refusal{500, "InternalError", "An internal error has occurred.", false}
	}
	x.refuse(refused)
}

// admit checks a request's path, method, key and body, and sets its fault. received is the error of receiving it.
func (s *Simulator) admit(c *call, received error) error {
	switch open := c.endpoint == EndpointPicture; {
	case c.endpoint == EndpointOther:
		return errNotFound
	case c.r.Method != c.method && !(open && c.r.Method == http.MethodHead):
		return errMethod
	case !open && c.account == nil:
		return errKey
	case received != nil:
		return received
	}
	if c.method == http.MethodPost && c.endpoint != EndpointCancel {
		if err := c.parse(); err != nil {
			return err
		}
	}
	c.fault = s.faults.take(c.Account, c.endpoint)
	return nil
}

// work answers an admitted call, unless its fault refuses it.
func (s *Simulator) work(c *call) (*answer, error) {
	f := &c.fault
	if f.Redirect != "" || f.Upgrade {
		return &answer{}, nil
	}
	if f.Error != nil && (f.After == 0 || !c.streams()) {
		return nil, f.Error.refusal()
	}
	if c.account != nil {
		if err := c.account.admit(c); err != nil {
			return nil, err
		}
	}
	a, err := s.serve(c)
	switch {
	case err != nil:
		return nil, err
	case f.Error != nil && a.frames == nil: // not a stream, so the error replaces the answer
		return nil, f.Error.refusal()
	case a.worked:
		s.ledger.execute(c.Received)
	}
	return a, nil
}

// serve answers a call by its endpoint.
func (s *Simulator) serve(c *call) (*answer, error) {
	switch c.endpoint {
	case EndpointText:
		return serveChat(c, false)
	case EndpointMultimodal:
		return s.serveMultimodal(c)
	case EndpointImage:
		return s.tasks.createImage(c)
	case EndpointSynthesis:
		return s.tasks.createOlder(c)
	case EndpointEmbeddings:
		return serveEmbeddings(c)
	case EndpointTask:
		return s.tasks.query(c)
	case EndpointCancel:
		return s.tasks.cancel(c)
	case EndpointList:
		return s.tasks.list(c)
	case EndpointUploads:
		return serveUploads(c)
	}
	return s.pictures.draw(c.r.Context(), c.r.URL, c.At)
}

// serveMultimodal answers the path that chat, synchronous images and interleaved streams share.
func (s *Simulator) serveMultimodal(c *call) (*answer, error) {
	interleaved := c.sse || get[bool](c.param, "stream") || get[bool](c.param, "enable_interleave")
	switch {
	case drawsAtOnce(c.model):
		return serveSyncImage(c, s.pictures)
	case edits(c.model) && interleaved:
		return serveInterleaved(c, s.pictures)
	}
	return serveChat(c, true)
}

// serveUploads answers the only action that clients use. The host in the answer takes no uploads.
func serveUploads(c *call) (*answer, error) {
	q := c.r.URL.Query()
	switch {
	case q.Get("action") != "getPolicy":
		return nil, invalid("action must be getPolicy")
	case q.Get("model") == "":
		return nil, invalid("model is required")
	}
	return &answer{doc: object{"request_id": c.ID, "data": object{
		"policy": "eyJjb25kaXRpb25zIjpbXX0=", "signature": "c2ltdWxhdGVk",
		"upload_dir": "instant/" + c.ID, "upload_host": "https://uploads.invalid",
		"expire_in_seconds": 300, "max_file_size_mb": "100", "x_oss_object_acl": "private",
	}}}, nil
}
