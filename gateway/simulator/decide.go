package simulator

import "net/http"

// decide works out the answer to a call: the door first (path, method, key),
// then the fault, then the rules and the work.
func (s *Simulator) decide(c *call, received error) (answer, error) {
	to := c.to
	if to.endpoint == EndpointOther {
		return answer{}, errNotFound
	}
	if c.r.Method != to.method && !(to.endpoint == EndpointPicture && c.r.Method == http.MethodHead) {
		return answer{}, &refusal{
			status: http.StatusMethodNotAllowed, code: "InvalidParameter",
			message: "Request method is not supported.", plain: true, allow: to.method,
		}
	}
	if to.endpoint != EndpointPicture && !s.knowsKey(c.r) {
		return answer{}, errKey
	}
	if received != nil {
		return answer{}, received
	}
	if to.method == http.MethodPost && to.endpoint != EndpointCancel {
		if err := c.parse(); err != nil {
			return answer{}, err
		}
	}
	if err := s.chooseFault(c); err != nil {
		return answer{}, err
	}
	return s.work(c)
}

// work answers a call that got in, unless its fault is to refuse it.
func (s *Simulator) work(c *call) (answer, error) {
	f := c.fault
	if f.Redirect != "" || f.Upgrade {
		return answer{}, nil
	}
	refused := f.Error != nil && (f.After == 0 || !c.streams())
	if refused && !f.Error.Executed {
		return answer{}, f.Error.refusal()
	}
	a, err := s.routes[c.to.endpoint](c)
	if err != nil {
		return answer{}, err
	}
	if a.work {
		s.records.setExecuted(c.rec)
	}
	if refused || f.Error != nil && a.frames == nil {
		s.bill.add(a.model, a.cost)
		if a.ended != nil {
			a.ended()
		}
		return answer{}, f.Error.refusal()
	}
	return a, nil
}
