package simulator

import (
	"cmp"
	"encoding/json"
	"io"
	"mime"
	"net/http"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
	"sluice/gateway/simulator/request"
)

// call is one request on its way through the service.
type call struct {
	r        *http.Request
	to       route
	received *Received
	body     []byte
	req      request.Request // without a model and a body until parse
	fault    *fault.Fault    // never nil
}

// receive reads a request. The error is errTooLarge or errBody.
func (s *Simulator) receive(r *http.Request) (*call, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, s.cfg.MaxBody+1))
	switch {
	case err != nil:
		err = errBody // incomplete or badly framed; the client may have left
	case int64(len(body)) > s.cfg.MaxBody:
		err = errTooLarge
	}
	c := &call{
		r: r, to: find(r.URL.EscapedPath()), body: body, fault: new(fault.Fault),
		req: request.ReadSwitches(r.Header, s.cfg.HeaderPrefix), received: newReceived(r, body, s.cfg.KeepBody),
	}
	c.received.ID, c.received.At, c.received.Endpoint = newUUID(), s.cfg.Now(), c.to.endpoint
	if len(r.Header.Values("Authorization")) != 1 && c.to.endpoint != EndpointPicture {
		c.received.Violation = "has not exactly one Authorization header"
	}
	return c, err
}

// parse reads the body as JSON.
func (c *call) parse() error {
	if ct := c.r.Header.Get("Content-Type"); ct != "" {
		if media, _, err := mime.ParseMediaType(ct); err != nil || media != "application/json" {
			return errMedia
		}
	}
	if c.req.Parse(c.body) != nil {
		return errBody
	}
	return nil
}

// streams reports whether the call wants a stream on a path that has one.
func (c *call) streams() bool {
	switch c.to.endpoint {
	case EndpointText, EndpointMultimodal, EndpointImage:
		return c.req.SSE
	}
	return false
}

// chooseFault sets the fault of the call: the one in its header, else in its body, else of the task that it queries,
// else the one in force.
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
	var f *fault.Fault
	if c.to.endpoint == EndpointTask {
		f = s.tasks.PollFault(c.to.taskID)
	}
	if f == nil {
		f = s.faults.Take(c.to.endpoint)
	}
	c.fault = cmp.Or(f, c.fault)
	return nil
}
