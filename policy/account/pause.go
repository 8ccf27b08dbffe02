package account

import "time"

// The bounds of a pause.
const (
	firstPause = time.Second
	mostDouble = time.Minute
	// mostPause bounds what the service asks for, so that a wrong header does not pause an account for ever. The service's quotas reset daily.
	mostPause = 24 * time.Hour
	// probeLease is how long others wait for a probe's outcome, so that a slow one does not block them for ever.
	probeLease = time.Minute
	// probeWait is how long others wait while a probe is under way.
	probeWait = time.Second
)

// Pause is how long an account gets no requests for a model, because the service throttled it. The zero Pause is over. Processes share the
// exported fields.
//
//	throttled ──► paused until a time ──► one request probes ──► worked: over
//	                  ▲    throttled: for longer      │  └─────► no outcome: another probes
//	                  └───────────────────────────────┘
type Pause struct {
	Until time.Time     // never earlier than what the service has asked for
	Step  time.Duration // the last wait, which doubles while the service names none; 0: none since the last success
	Since time.Time     // when an answer first throttled, since the last success
	Why   string        // the last answer's code

	last  time.Time // when an answer last throttled, or another process reported one
	probe time.Time // when the probe under way began; zero: none
}

// at returns how long the model must not get requests, or else whether a request may be the probe.
func (p Pause) at(now time.Time) (wait time.Duration, probe bool) {
	switch {
	case p.Until.IsZero():
		return 0, false
	case now.Before(p.Until):
		return p.Until.Sub(now), false
	case !p.probe.IsZero() && now.Before(p.probe.Add(probeLease)):
		return probeWait, false
	}
	return 0, true
}

func (p Pause) mayProbe(now time.Time) bool {
	_, may := p.at(now)
	return may
}

// probed notes that a probe begins.
func (p Pause) probed(now time.Time) Pause {
	p.probe = now
	return p
}

// ended notes that the request that began then is over.
func (p Pause) ended(began time.Time) Pause {
	if p.probe.Equal(began) {
		p.probe = time.Time{}
	}
	return p
}

// throttled makes the pause longer, by what the answer asks for, or by twice the last wait if it does not say. Answers
// to requests that were under way together double the wait only once.
func (p Pause) throttled(now time.Time, asked time.Duration, why string) Pause {
	if asked <= 0 {
		if !now.Before(p.Until) || p.Step == 0 {
			p.Step = min(max(2*p.Step, firstPause), mostDouble)
		}
		asked = p.Step
	}
	if p.Since.IsZero() {
		p.Since = now
	}
	p.Until, p.last, p.Why = later(p.Until, now.Add(min(asked, mostPause))), now, why
	return p
}

// proven ends the pause if the request that worked began after it. A request that began during the pause only resets
// the doubling, and one that began before the service throttled shows nothing.
func (p Pause) proven(began time.Time) Pause {
	switch {
	case !began.After(p.last):
		return p
	case began.Before(p.Until):
		p.Step = 0
		return p
	}
	return Pause{}
}

// merged is the longer of two pauses, with the knowledge of both. A pause that is over changes nothing.
func (p Pause) merged(known Pause, now time.Time) Pause {
	if !known.Until.After(now) {
		return p
	}
	if known.Until.After(p.Until) {
		p.Until, p.last = known.Until, now // requests that began earlier show nothing about it
	}
	p.Step = max(p.Step, known.Step)
	if p.Since.IsZero() || !known.Since.IsZero() && known.Since.Before(p.Since) {
		p.Since = known.Since
	}
	if p.Why == "" {
		p.Why = known.Why
	}
	return p
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
