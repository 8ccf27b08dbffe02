// Package billing decides what a request is charged: by how its exchange with the service ended, by the usage in the answer, and by the
// price at its admission.
//
// It decides from facts that it is given. It reads no clock, sends nothing, and knows neither HTTP nor the accounts' stores. Package price
// works out the bills.
//
// It promises that a charge whose kinds are known has a bill that adds up to it, and that an estimate is never more than what was seen or
// held.
package billing

import (
	"sluice/cache"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// Ending has the facts about the end of an admitted request's exchange with the service.
type Ending struct {
	Reading *meter.Reading // of the answer
	Status  int            // of the answer; 0: there is none
	Reached bool           // a byte of the request may have left
	Whole   bool           // the answer was read to its end
	Clean   bool           // and the end cannot be a cut, because the answer was framed

	Forwarded   bool // the path is forwarded and its bodies are not read: it costs one request
	Governed    bool // the path's bodies are read by a form: an answer without usage is charged as held
	Creates     bool // a success is a task
	Claimed     bool // a task was claimed: its end settles the hold
	Unclaimable bool // the answer names a task that cannot be polled, or that another team has claimed
	Awaited     bool // a listener or the mirror waits for the pictures of the claimed task: a query of it names them all

	Embeds   bool          // all tokens are input
	Text     bool          // tokens are charged
	Pictures bool          // the request asks for pictures, and that is no guess
	Held     limit.Amounts // what it may cost
	Input    int64         // the estimate of its input's tokens, a part of Held
}

// unavailable is the status of a service that did nothing.
const unavailable = 503

// Charge fills in what an admitted request is charged, and returns how that was determined.
func (e *Ending) Charge(c *limit.Charge, p *Pricing) (flag string) {
	read := e.Reading
	failed := e.Status >= 400 || read.Failed && !read.Content
	switch {
	case !e.Reached:
		return telemetry.FlagNotSent
	case e.Claimed && !(e.Counts() && !e.Awaited || read.Frames > 0 && e.taskFailed()):
		return telemetry.FlagTask
	case e.Status == 0, e.Creates && e.Doubtful(), e.isCutError():
		return telemetry.FlagUnknown
	case failed && !e.Claimed:
		p.charge(c, e.used(p))
		return telemetry.FlagRefused
	case e.Forwarded && (!e.Creates || e.Claimed || e.Whole && !e.Unclaimable):
		c.Amounts = limit.Amounts{limit.Requests: 1}
		return telemetry.FlagExact
	case e.Creates && !e.Claimed && (e.Forwarded || !e.TellsAll()):
		return telemetry.FlagUnknown // a task with an unknown id may run
	case e.Claimed && e.taskFailed():
		p.charge(c, e.used(p))
		return telemetry.FlagExact // what was counted before it failed
	}
	return e.measure(c, p)
}

// Counts reports whether a stream counted what its task made, and ended it.
func (e *Ending) Counts() bool { return e.Reading.Frames > 0 && e.TellsAll() }

// isCutError reports whether the answer is a server error without its end: what was worked for it is unknown.
func (e *Ending) isCutError() bool {
	return e.Status >= 500 && !e.Claimed && !e.Whole && !e.Reading.Closed
}

// Doubtful reports whether a creation failed in a way that leaves open whether it made a task. A whole 503 means that the service
// did nothing.
func (e *Ending) Doubtful() bool {
	if e.Claimed {
		return false
	}
	status := e.Status
	if read := e.Reading; status < 400 && read.Failed && !read.Content { // an error frame before any content counts as its status
		status = read.ErrorStatus
	}
	return status >= 500 && !(status == unavailable && (e.Whole || e.Reading.Closed))
}

// complete reports whether the whole answer arrived: it marked its own end, or its bytes ended in order.
func (e *Ending) complete() bool { return e.Reading.Complete || e.Clean && e.Reading.Closed }

// TellsAll reports whether the answer to a creation is whole and has all that was made, so that no task needs to be queried: it
// names none, or shows that the task has ended.
func (e *Ending) TellsAll() bool {
	return Tells(e.Reading, e.Governed, true) && e.complete() && (e.Reading.TaskID == "" && !e.Unclaimable || e.taskEnded())
}

// taskEnded reports whether a whole answer that names a task shows that it has ended, without an error before. A stream that
// marks its own end also marks the task's end; so does any other end of a stream, unless a status shows that the task still runs.
func (e *Ending) taskEnded() bool {
	read, status := e.Reading, cache.Status(e.Reading.TaskStatus)
	return status.Final() || !read.Failed && (read.Frames > 0 && read.Complete || !status.Runs())
}

// taskFailed reports whether the answer shows that its task failed or was cancelled: it made no more images than were counted.
func (e *Ending) taskFailed() bool {
	status := cache.Status(e.Reading.TaskStatus)
	return status.Final() && status != cache.Succeeded
}

// measure is Charge for an answer that arrived at least in part.
func (e *Ending) measure(c *limit.Charge, p *Pricing) (flag string) {
	read := e.Reading
	complete := e.complete()
	_, images := read.Images()
	switch known := Tells(read, true, e.Pictures); { // no images in a text answer is not a usage
	case known && complete && !e.lacks():
		p.charge(c, e.used(p))
		return telemetry.FlagExact
	case complete && e.Governed && !known:
		e.chargeHeld(c, p)
	case !complete && !known && read.Frames == 0:
		return telemetry.FlagUnknown // cut before any content
	case e.Pictures && !images && complete: // the images were not counted: as many as were held
		p.charge(c, price.Asked(e.Held[limit.Images], p.Size))
	case e.Pictures:
		p.charge(c, e.used(p))
	default:
		e.guess(c, p)
	}
	return telemetry.FlagEstimated
}

// lacks reports whether the usage in the answer to a text counts only the input or only the output. A total without either counts as
// output, and an answer that a form reads may have no output. A task's end is charged by its usage alone, so its stream is, too.
func (e *Ending) lacks() bool {
	u := &e.Reading.Usage
	_, tokens := u.Tokens()
	images, _ := e.Reading.Images()
	if !tokens || !e.Text || e.Embeds || e.Pictures || images > 0 || e.Creates || e.Claimed {
		return false
	}
	input, output := counted(u)
	n, _ := u.Get(meter.OutputTokens)
	total, _ := u.Get(meter.TotalTokens)
	return !input && total <= n || !output && !e.Governed
}

// guess charges a text whose usage or end was not seen: what was seen, or an estimate from the bytes, but no more than was held of the
// estimate. If the estimate was cut to what was held, its kinds are unknown.
func (e *Ending) guess(c *limit.Charge, p *Pricing) {
	p.charge(c, e.used(p))
	seen := *c
	p.charge(c, e.estimate(p))
	guessed := c.Amounts
	for i := range c.Amounts {
		c.Amounts[i] = max(seen.Amounts[i], min(guessed[i], e.Held[i]))
	}
	switch c.Amounts {
	case guessed:
	case seen.Amounts:
		c.Bill = seen.Bill
	default:
		c.Bill = nil
	}
}

// chargeHeld charges what was held, or what was seen where that is more. If a part of it was only held, its kinds are unknown.
func (e *Ending) chargeHeld(c *limit.Charge, p *Pricing) {
	p.charge(c, e.estimate(p))
	seen := c.Amounts
	for i := range c.Amounts {
		c.Amounts[i] = max(c.Amounts[i], e.Held[i])
	}
	if c.Amounts != seen {
		c.Bill = nil
	}
}

// estimate is the usage in the answer, with estimates from the bytes for what it does not say. The output that a cut answer says may be
// less than it had.
func (e *Ending) estimate(p *Pricing) price.Usage {
	used := e.used(p)
	input, output := counted(&e.Reading.Usage)
	if !input {
		used.Input = max(used.Input, e.Input)
	}
	if !e.Embeds && !(output && e.complete()) {
		used.Output = max(used.Output, int64(e.Reading.TextBytes)/4, 1)
	}
	return used
}

// used is the usage in the answer; without one, only a request. An embedding has no output: all tokens are input.
func (e *Ending) used(p *Pricing) price.Usage {
	used := UsageOf(e.Reading, e.Text, p.Size)
	if e.Embeds {
		used.Input, used.Output = used.Tokens(), 0
	}
	return used
}
