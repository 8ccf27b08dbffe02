package account

import "time"

// probeEvery is the time between two probes of an account that is out.
const probeEvery = time.Minute

// outage is the state of an account that the service refuses, for its key or for arrears. The zero value is no outage.
//
//	refused ──► out ──► each minute, and when the key changes, one request probes ──► worked: none
type outage struct {
	since   time.Time // zero: it is not out
	why     string
	last    time.Time // when it was last refused, with this key
	next    time.Time // of the next probe
	probe   time.Time // when the last probe began; zero: none did
	changed time.Time // when the key changed; zero: it has not
}

func (o outage) isOut() bool { return !o.since.IsZero() }

// at returns how long the account must not get requests, or else whether a request may be the probe.
func (o outage) at(now time.Time) (wait time.Duration, probe bool) {
	switch {
	case !o.isOut():
		return 0, false
	case now.Before(o.next):
		return o.next.Sub(now), false
	}
	return 0, true
}

func (o outage) mayProbe(now time.Time) bool {
	_, may := o.at(now)
	return may
}

// probed notes that a probe begins. The next one comes on schedule, whatever this one's outcome.
func (o outage) probed(now time.Time) outage {
	o.next, o.probe = now.Add(probeEvery), now
	return o
}

// dropped notes that the probe that began then was not made, or showed nothing: the next request is a probe.
func (o outage) dropped(began time.Time) outage {
	if o.isOut() && o.probe.Equal(began) {
		o.next = began
	}
	return o
}

// refused notes a refusal of a request that began at a time. A request with an earlier key does not count. While the
// account is out, only the answer to a probe postpones the next probe: queries about the account's tasks go on, and
// would postpone it for ever.
func (o outage) refused(began, now time.Time, why string) outage {
	if began.Before(o.changed) {
		return o
	}
	if !o.isOut() {
		o.since, o.next = now, now.Add(probeEvery)
	} else if began.Equal(o.probe) {
		o.next = now.Add(probeEvery)
	}
	o.last, o.why = now, why
	return o
}

// proven ends the outage if the request that worked began after the last refusal, with this key.
func (o outage) proven(began time.Time) outage {
	if !began.After(o.last) || began.Before(o.changed) {
		return o
	}
	return outage{changed: o.changed}
}

// faulted notes that a request that began at a time was refused for its content. So its key is valid. The service may
// check payment after the content, so if the account was unpaid the next request is a probe.
func (o outage) faulted(began time.Time) outage {
	if Unpaid(o.why) {
		return o.dropped(began)
	}
	return o.proven(began)
}

// renewed notes that the key has changed.
func (o outage) renewed(now time.Time) outage {
	o.changed, o.last, o.next = now, time.Time{}, time.Time{}
	return o
}
