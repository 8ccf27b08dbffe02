package simulator

import (
	"net/http"

	"sluice/gateway/simulator/answer"
)

// decide works out the answer to a call: the door first (path, method, key), then the fault, then the rules and the
// work.
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
	if to.endpoint != EndpointPicture && !s.knowsKey(c.r) {
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

// work answers a call that got in, unless its fault is to refuse it.
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
		s.records.setExecuted(c.rec)
	}
	if refused || f.Error != nil && a.Frames == nil {
		s.bill.add(a.Model, a.Cost)
		if a.Ended != nil {
			a.Ended()
		}
		return answer.Answer{}, f.Error.Refusal()
	}
	return a, nil
}
