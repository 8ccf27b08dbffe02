package simulator

import (
	"net/http"

	"sluice/gateway/simulator/answer"
)

// handler answers one call with a result or a refusal.
type handler func(*call) (answer.Answer, error)

// handlers pairs every endpoint with its handler.
func (s *Simulator) handlers() map[string]handler {
	return map[string]handler{
		EndpointText:       s.serveText,
		EndpointMultimodal: s.serveMultimodal,
		EndpointImage:      s.serveImage,
		EndpointSynthesis:  s.serveSynthesis,
		EndpointTask:       limited(s.cfg.TaskRate, s.serveTask),
		EndpointCancel:     limited(s.cfg.TaskRate, s.serveCancel),
		EndpointList:       limited(s.cfg.TaskRate, s.serveList),
		EndpointUploads:    serveUploads,
		EndpointPicture:    s.servePicture,
	}
}

// limited puts the account's limit for one task operation before its handler.
func limited(rate int, next handler) handler {
	if rate < 0 {
		return next
	}
	limit := newLimiter(rate)
	return func(c *call) (answer.Answer, error) {
		if !limit.allow(c.received.At) {
			return answer.Answer{}, errRate
		}
		return next(c)
	}
}

// decide works out the answer to a call. It looks at path, method, key and body first, then at the fault, then at the
// rules.
func (s *Simulator) decide(c *call, received error) (answer.Answer, error) {
	to := c.to
	if to.endpoint == EndpointOther {
		return answer.Answer{}, errNotFound
	}
	if c.r.Method != to.method && !(to.endpoint == EndpointPicture && c.r.Method == http.MethodHead) {
		return answer.Answer{}, &answer.Refusal{
			Status: http.StatusMethodNotAllowed, Code: "InvalidParameter",
			Message: "Request method is not supported.", Plain: true, Allow: to.method,
		}
	}
	if to.endpoint != EndpointPicture && !s.keys.accept(c.r) {
		return answer.Answer{}, errKey
	}
	if received != nil {
		return answer.Answer{}, received
	}
	if to.method == http.MethodPost && to.endpoint != EndpointCancel {
		if err := c.parse(); err != nil {
			return answer.Answer{}, err
		}
	}
	if err := s.chooseFault(c); err != nil {
		return answer.Answer{}, err
	}
	return s.work(c)
}

// work answers a valid call, unless its fault refuses it.
func (s *Simulator) work(c *call) (answer.Answer, error) {
	f := c.fault
	if f.Redirect != "" || f.Upgrade {
		return answer.Answer{}, nil
	}
	refused := f.Error != nil && (f.After == 0 || !c.streams())
	if refused && !f.Error.Executed {
		return answer.Answer{}, f.Error.Refusal()
	}
	a, err := s.routes[c.to.endpoint](c)
	if err != nil {
		return answer.Answer{}, err
	}
	if a.Work {
		s.ledger.setExecuted(c.received)
	}
	if refused || f.Error != nil && a.Frames == nil {
		s.ledger.bill(a.Model, a.Cost)
		if a.Ended != nil {
			a.Ended()
		}
		return answer.Answer{}, f.Error.Refusal()
	}
	return a, nil
}
