package meter

import (
	"math"
	"strings"
)

// answer holds what was read of an answer. The document passes it the values at known places.
type answer struct {
	Reading       // without the values that reading computes
	finished bool // output.finished was true

	seen     uint8 // a bit for each choice that was seen
	reasons  [proseSlots]string
	texts    [proseSlots * proseKinds]prose
	pictures pictures

	// Of the document that is being read.
	failing failure
	choices int8   // begun so far
	slot    int8   // of the choice being read
	reason  string // of that choice
	touched uint16 // a bit for each text that it has
}

// failure holds the members by which a document may report an error. They count if the document turns out to be an error.
type failure struct {
	code, message string
	status        int
}

// beginDocument resets the state of the document for the next one of a stream.
func (a *answer) beginDocument() {
	a.failing, a.choices, a.slot, a.reason = failure{}, 0, 0, ""
}

// endDocument adds a document that ends or is cut here to the answer.
func (a *answer) endDocument(isError, cut bool) {
	for i := range a.texts {
		if a.touched&(1<<i) != 0 {
			a.Content = a.Content || a.texts[i].length > 0
			a.texts[i].endFrame(cut)
		}
	}
	a.touched = 0
	a.pictures.endFrame()
	if isError || a.failing.code != "" {
		a.Failed, a.ErrorCode, a.ErrorMessage, a.ErrorStatus = true, a.failing.code, a.failing.message, a.failing.status
	}
}

func (a *answer) beginChoice() {
	a.slot = a.choices
	a.choices = min(a.choices+1, proseSlots-1)
	a.reason = ""
}

// endChoice stores the choice's finish reason. It is called when the choice is closed, because its index may follow the reason.
func (a *answer) endChoice() {
	a.seen |= 1 << a.slot
	if a.reason != "" {
		a.reasons[a.slot] = a.reason
	}
}

// text returns the text that a string at a place belongs to; nil: it is not output of the model.
func (a *answer) text(p place) *prose {
	kind, ok := p.prose()
	if !ok {
		return nil
	}
	i := int(a.slot)*proseKinds + kind
	a.touched |= 1 << i
	return &a.texts[i]
}

// takeString takes a whole string. If it is too long, token is only its beginning.
func (a *answer) takeString(p place, token []byte, tooLong bool) {
	switch {
	case p == placeImage:
		a.Content = a.pictures.endAddress() || a.Content
	case p == placeErrorMessage:
		if len(token) > 0 { // an empty message must not replace one at another place
			a.failing.message = strings.ToValidUTF8(string(token), "")
		}
	case tooLong:
	case p == placeRequestID:
		keepString(&a.ResponseID, token)
	case p == placeTaskID:
		keepString(&a.TaskID, token)
	case p == placeTaskStatus:
		keepString(&a.TaskStatus, token)
	case p == placeEndStatus:
		a.finished = a.finished || string(token) != "in_progress" && string(token) != "queued"
	case p == placeCode:
		if len(token) > 0 {
			a.failing.code = string(token)
		}
	case p == placeFinishReason:
		a.reason = finishWord(token)
	case p == placeOutputReason:
		a.slot, a.reason = 0, finishWord(token)
		a.endChoice()
	}
}

// takeWord takes a number or literal outside of the usage.
func (a *answer) takeWord(p place, token []byte) {
	switch p {
	case placeFinished:
		a.finished = a.finished || string(token) == "true"
	case placeStatusCode:
		a.takeStatus(token)
	case placeIndex:
		if n, ok := parseNumber(token); ok && n >= 0 {
			a.slot = int8(min(n, proseSlots-1))
		}
	}
}

func (a *answer) takeStatus(digits []byte) {
	if n, ok := parseNumber(digits); ok && n >= 100 && n < 1000 {
		a.failing.status = int(n)
	}
}

// takeNumber takes the number at a path below usage. A value that cannot be an amount is ignored and makes the answer odd.
func (a *answer) takeNumber(path, token []byte, tooLong bool) {
	f := fieldAt(path)
	switch string(token) {
	case "null": // the service sends it for the tokens of pictures, video and sound
		a.Odd = a.Odd || f <= ImageCount
		return
	case "true", "false":
		a.Odd = a.Odd || f < fieldCount
		return
	}
	n, ok := parseNumber(token)
	switch {
	case !ok || tooLong || n < 0 || n > maxNumber:
		a.Odd = true
	case f == fieldCount:
		a.Odd = !a.Usage.raiseOther(path, n) || a.Odd
	case n != math.Trunc(n):
		a.Odd = true
	default:
		a.Usage.Raise(f, int64(n))
	}
}

// saysEnd reports whether a stream has marked its end.
func (a *answer) saysEnd() bool {
	if a.finished || a.Failed {
		return true
	}
	switch a.TaskStatus {
	case "SUCCEEDED", "FAILED", "CANCELED", "CANCELLED":
		return true
	}
	for i, reason := range a.reasons {
		if a.seen&(1<<i) != 0 && reason == "" {
			return false
		}
	}
	return a.seen != 0
}

// finishWord returns a finish reason, the usual ones without allocating, and "" for "null", which streams send before the end.
func finishWord(token []byte) string {
	switch string(token) {
	case "stop":
		return "stop"
	case "length":
		return "length"
	case "tool_calls":
		return "tool_calls"
	case "null":
		return ""
	}
	return string(token)
}

// keepString sets s. It allocates only if s changes, because every frame of a stream repeats these values.
func keepString(s *string, token []byte) {
	if *s != string(token) {
		*s = string(token)
	}
}

// Reading holds the facts that a Meter has read from one answer. The zero value of a field means that the answer lacks it.
type Reading struct {
	Usage Usage // of each number the largest value in the answer
	Odd   bool  // a usage number was ignored: negative, too large, a string, or null where the service never sends it

	FinishReasons []string // one per choice that ended, in the order of the choices; null and "null" do not count
	ResponseID    string   // request_id
	TaskID        string   // output.task_id
	TaskStatus    string   // output.task_status, as received
	ImageCount    int      // pictures with an address, counted in the answer; see [Reading.Images]

	Failed       bool   // an error body, an error frame, or a task that failed with a code
	ErrorCode    string // code of an error body or error frame, also of a task that failed
	ErrorMessage string // its message, at most 1 KiB; it may quote the request, so it must not be logged
	ErrorStatus  int    // HTTP status inside an error frame (:HTTP_STATUS/400) or body (status_code)

	Content   bool // the answer has output of the model: text, a tool call or a picture
	TextBytes int  // UTF-8 bytes of text and tool arguments; of frames that repeat the text so far, the longest
	Frames    int  // frames of a stream; 0 for other answers

	Closed   bool // no document or frame is open: the answer may end here
	Complete bool // it is closed and marks its end: see [Meter.End]
	Opaque   bool // nothing could be read: compressed, or neither JSON nor a stream of events
	GaveUp   bool // a document is invalid JSON; the Reading has what preceded the fault
}

// Images returns the number of pictures to charge: usage.image_count, or else the pictures counted in the answer; false without either.
func (r *Reading) Images() (int64, bool) {
	if n, ok := r.Usage.Get(ImageCount); ok {
		return n, true
	}
	return int64(r.ImageCount), r.ImageCount > 0
}

// Counts reports whether the service has counted tokens or pictures.
func (r *Reading) Counts() bool {
	tokens, _ := r.Usage.Tokens()
	images, _ := r.Images()
	return tokens+images > 0
}

// InnerStatus returns the HTTP status of the error inside a successful answer, in a frame of a stream or in the body; 0: none. An error
// without a status of HTTP's errors counts as 500, and the failure of a task as none.
func (r *Reading) InnerStatus() int {
	switch {
	case r.Failed && r.ErrorStatus >= 400 && r.ErrorStatus < 600:
		return r.ErrorStatus
	case r.Failed && r.TaskStatus != "FAILED":
		return 500
	}
	return 0
}

// reading returns the facts of the answer so far, except Closed and Complete.
func (a *answer) reading() Reading {
	r := a.Reading
	r.ImageCount = max(a.pictures.most, a.pictures.seenN)
	for _, reason := range a.reasons {
		if reason != "" {
			r.FinishReasons = append(r.FinishReasons, reason)
		}
	}
	for i := range a.texts {
		r.TextBytes += a.texts[i].total()
	}
	return r
}
