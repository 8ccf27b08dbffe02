package simulator

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// call is one request on its way through the service.
type call struct {
	r      *http.Request
	rec    *Received
	id     string // request id
	now    time.Time
	raw    []byte // the whole body
	body   object // the body parsed, or nil
	fault  *Fault // never nil
	sse    bool   // a stream is asked for
	async  bool   // the async header is set
	taskID string // of the path
	model  string
}

// receive reads and records a request. The error is the body's: too large, or
// broken off.
func (s *Simulator) receive(r *http.Request) (*call, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, s.cfg.MaxBody+1))
	switch {
	case err != nil:
		err = errBody // broken off or misframed: nobody may be left to read this
	case int64(len(raw)) > s.cfg.MaxBody:
		err = errTooLarge
	}
	var uuid [16]byte
	rand.Read(uuid[:]) // never fails, see its documentation
	c := &call{r: r, id: formatUUID(uuid), now: s.cfg.Now(), raw: raw, fault: new(Fault)}
	c.sse = s.asks(r, "SSE") || strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/event-stream")
	c.async = s.asks(r, "Async")
	return c, err
}

// record keeps the call for Requests, under the endpoint it was routed to.
func (s *Simulator) record(c *call, endpoint string) {
	r, sum := c.r, sha256.Sum256(c.raw)
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path == "" { // a request made by httptest, which never was on a wire
		path = r.URL.EscapedPath()
	}
	c.rec = &Received{
		ID: c.id, At: c.now, Method: r.Method, Path: path, Query: r.URL.RawQuery, Host: r.Host,
		Endpoint: endpoint, Header: r.Header.Clone(), RemoteAddr: r.RemoteAddr,
		Body:     append([]byte(nil), c.raw[:min(len(c.raw), max(s.cfg.KeepBody, 0))]...),
		BodySize: int64(len(c.raw)), BodySHA256: hex.EncodeToString(sum[:]),
	}
	if n := len(r.Header.Values("Authorization")); n != 1 && endpoint != EndpointPicture {
		c.rec.Violation = "has not exactly one Authorization header"
	}
	s.records.add(c.rec)
}

// asks reports whether a service header says enable; disable, or any other
// word, means absent.
func (s *Simulator) asks(r *http.Request, name string) bool {
	return strings.EqualFold(strings.TrimSpace(r.Header.Get(s.cfg.HeaderPrefix+name)), "enable")
}

// parse reads the body as JSON. Of a member named twice the last one counts,
// which is exactly why a gateway must not let such a body through.
func (c *call) parse() error {
	if ct := c.r.Header.Get("Content-Type"); ct != "" {
		if media, _, err := mime.ParseMediaType(ct); err != nil || media != "application/json" {
			return errMedia
		}
	}
	if err := json.Unmarshal(c.raw, &c.body); err != nil || c.body == nil {
		return errBody
	}
	c.model = c.body.text("model")
	return nil
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
	for _, k := range s.keys {
		if k == key {
			return true
		}
	}
	return len(s.keys) == 0
}

// chooseFault sets the fault of the call: the header's, the body's, the
// task's or the one in force.
func (s *Simulator) chooseFault(c *call) error {
	text := []byte(c.r.Header.Get("X-Simulate"))
	if member, ok := c.body.child("parameters")["simulate"]; ok && len(text) == 0 {
		text, _ = json.Marshal(member) // came from JSON
	}
	if len(text) > 0 {
		f, err := parseFault(text)
		if err != nil {
			return invalid("%v", err)
		}
		c.fault = f
		return nil
	}
	if f := s.tasks.pollFault(c.taskID); f != nil && c.rec.Endpoint == EndpointTask {
		c.fault = f
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.faults {
		if a.take(c.rec.Endpoint) {
			c.fault = &a.fault
			return nil
		}
	}
	return nil
}

func formatUUID(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
