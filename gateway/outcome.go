package gateway

import (
	"net/http"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// outcome is the cost of an admitted request, and how that amount came about.
func (s *requestState) outcome() (limit.Amounts, string) {
	read := &s.reading
	failed := s.UpstreamStatus >= 400 || read.Failed && !read.Content
	switch {
	case !s.exchange.Reached:
		return limit.Amounts{}, telemetry.FlagNotSent
	case s.claimed && !(read.Frames > 0 && (s.tellsAll() || s.taskFailed())):
		return limit.Amounts{}, telemetry.FlagTask
	case s.UpstreamStatus == 0, s.creates && s.doubtful():
		return limit.Amounts{}, telemetry.FlagUnknown
	case failed && !s.claimed:
		return s.cost(), telemetry.FlagRefused
	case s.route.prefix && (!s.creates || s.claimed || s.exchange.Whole && !s.unclaimable):
		return limit.Amounts{limit.Requests: 1}, telemetry.FlagExact
	case s.creates && !s.claimed && (s.route.prefix || !s.tellsAll()):
		return limit.Amounts{}, telemetry.FlagUnknown // a task with an unknown id may run
	case s.claimed && s.taskFailed():
		return s.cost(), telemetry.FlagExact // what was counted before it failed
	}
	return s.measured()
}

// doubtful reports whether a creation failed in a way that leaves open whether it made a task. A whole 503 says that the
// service did nothing.
func (s *requestState) doubtful() bool {
	if s.claimed {
		return false
	}
	status := s.UpstreamStatus
	if read := &s.reading; status < 400 && read.Failed && !read.Content { // an error frame before any content counts as its status
		status = read.ErrorStatus
	}
	return status >= 500 && !(status == http.StatusServiceUnavailable && (s.exchange.Whole || s.reading.Closed))
}

// complete reports whether the whole answer came: it named its own end, or its bytes ended in order.
func (s *requestState) complete() bool {
	return s.reading.Complete || s.exchange.Clean && s.reading.Closed
}

// tellsAll reports whether the answer to a creation is whole and tells what it made, so that no query is needed about a
// task: it names none, or says that the task has ended.
func (s *requestState) tellsAll() bool {
	_, known := s.reading.Images()
	return known && s.complete() && (s.reading.TaskID == "" && !s.unclaimable || s.taskEnded())
}

// taskEnded reports whether a whole answer that names a task says that it has ended, without an error before. A stream that
// tells its own end tells the task's end; any other end of a stream does too, unless a status says that the task still runs.
func (s *requestState) taskEnded() bool {
	read, status := &s.reading, cache.Status(s.reading.TaskStatus)
	return status.Final() || !read.Failed && (read.Frames > 0 && read.Complete || !status.Runs())
}

// taskFailed reports whether the answer says that its task failed or was cancelled: it made no more images than were counted.
func (s *requestState) taskFailed() bool {
	status := cache.Status(s.reading.TaskStatus)
	return status.Final() && status != cache.Succeeded
}

// measured is the cost of an answer of which at least a part came.
func (s *requestState) measured() (limit.Amounts, string) {
	read := &s.reading
	used, complete := s.cost(), s.complete()
	_, tokens := read.Usage.Tokens()
	count, images := read.Images()
	pictures := s.size[limit.Images] > 0 && !s.guessed
	images = images && (pictures || count > 0) // no images in a text answer is not a usage
	switch known := tokens || images; {
	case known && complete:
		return used, telemetry.FlagExact
	case !complete && !known && read.Frames == 0:
		return limit.Amounts{}, telemetry.FlagUnknown // cut before it said anything
	case pictures && !images && complete:
		return s.size, telemetry.FlagEstimated // the images were not counted
	case pictures:
		return used, telemetry.FlagEstimated
	}
	guess := limit.CostOf(s.paidAs(), limit.Usage{Input: s.inputTokens, Output: max(int64(read.TextBytes)/4, 1)}, s.price)
	for i := range used { // what was seen, or an estimate from the bytes, but no more than was held
		used[i] = max(used[i], min(guess[i], s.size[i]))
	}
	return used, telemetry.FlagEstimated
}

// cost is the cost of the answer's usage; without usage it is one request.
func (s *requestState) cost() limit.Amounts {
	usage := &s.reading.Usage
	in, _ := usage.Get(meter.InputTokens)
	out, _ := usage.Get(meter.OutputTokens)
	total, _ := usage.Get(meter.TotalTokens)
	images, _ := s.reading.Images()
	return limit.CostOf(s.paidAs(), limit.Usage{Input: in, Output: out, Total: total, Images: images}, s.price)
}

// paidAs is the kind by which a request is charged. If the kind was a guess, that is a chat: its tokens are charged, and the
// images that the answer counts.
func (s *requestState) paidAs() policy.Kind {
	if s.guessed {
		return policy.KindChat
	}
	return policy.Kind(s.Kind)
}
