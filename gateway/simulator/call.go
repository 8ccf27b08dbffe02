package simulator

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
	"sluice/gateway/simulator/request"
)

// call is one request on its way through the service.
type call struct {
	r     *http.Request
	to    route
	rec   *Received
	id    string // request id
	now   time.Time
	raw   []byte          // the whole body
	req   request.Request // filled by parse
	fault *fault.Fault    // never nil
}

// receive reads a request. The error is the body's: too large, or broken off.
func (s *Simulator) receive(r *http.Request) (*call, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, s.cfg.MaxBody+1))
	switch {
	case err != nil:
		err = errBody // broken off or badly framed: the client may have left
	case int64(len(raw)) > s.cfg.MaxBody:
		err = errTooLarge
	}
	return &call{
		r: r, to: find(r.URL.EscapedPath()), id: newUUID(), now: s.cfg.Now(), raw: raw,
		req: request.ReadSwitches(r.Header, s.cfg.HeaderPrefix), fault: new(fault.Fault),
	}, err
}

// record keeps the call for Requests.
func (s *Simulator) record(c *call) {
	r, sum := c.r, sha256.Sum256(c.raw)
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path == "" { // a request made by httptest, which was never on a wire
		path = r.URL.EscapedPath()
	}
	c.rec = &Received{
		ID: c.id, At: c.now, Method: r.Method, Path: path, Query: r.URL.RawQuery, Host: r.Host,
		Endpoint: c.to.endpoint, Header: r.Header.Clone(), RemoteAddr: r.RemoteAddr,
		Body:     append([]byte(nil), c.raw[:min(len(c.raw), max(s.cfg.KeepBody, 0))]...),
		BodySize: int64(len(c.raw)), BodySHA256: hex.EncodeToString(sum[:]),
	}
	if n := len(r.Header.Values("Authorization")); n != 1 && c.to.endpoint != EndpointPicture {
		c.rec.Violation = "has not exactly one Authorization header"
	}
	s.records.add(c.rec)
}

// parse reads the body as JSON.
func (c *call) parse() error {
	if ct := c.r.Header.Get("Content-Type"); ct != "" {
		if media, _, err := mime.ParseMediaType(ct); err != nil || media != "application/json" {
			return errMedia
		}
	}
	if c.req.Parse(c.raw) != nil {
		return errBody
	}
	return nil
}

// streams reports whether the call asks for a stream on a path that has one.
func (c *call) streams() bool {
	switch c.to.endpoint {
	case EndpointText, EndpointMultimodal, EndpointImage:
		return c.req.SSE
	}
	return false
}

// knowsKey reports whether the request carries a key of the account.
func (s *Simulator) knowsKey(r *http.Request) bool {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return false
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	key = strings.TrimSpace(key)
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys) == 0 || slices.Contains(s.keys, key)
}

// chooseFault sets the fault of the call: the header's, the body's, the task's or the one in force, in this order.
func (s *Simulator) chooseFault(c *call) error {
	text := []byte(c.r.Header.Get("X-Simulate"))
	if member, ok := c.req.Parameters()["simulate"]; ok && len(text) == 0 {
		text, _ = json.Marshal(member) // came from JSON
	}
	if len(text) > 0 {
		f, err := fault.Parse(text)
		if err != nil {
			return answer.Invalid("%v", err)
		}
		c.fault = f
		return nil
	}
	if c.to.endpoint == EndpointTask {
		if f := s.tasks.PollFault(c.to.taskID); f != nil {
			c.fault = f
			return nil
		}
	}
	if f := s.faults.Take(c.to.endpoint); f != nil {
		c.fault = f
	}
	return nil
}

// newUUID makes a random UUID.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, see its documentation
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
