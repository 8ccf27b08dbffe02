package meter

// Reading holds the facts that a Meter has read from one answer. The zero value of a field means that the answer does not say.
type Reading struct {
	Usage Usage // of each number the largest value in any part of the answer
	Odd   bool  // a usage number was ignored: negative, too large, a string, or null if the interface has no null for it

	FinishReasons []string // one per choice that ended, in the order of the choices; null and "null" do not count
	ResponseID    string   // request_id
	TaskID        string   // output.task_id
	TaskStatus    string   // output.task_status, as it came
	ImageCount    int      // pictures with an address, counted in the answer; see [Reading.Images]

	Failed       bool   // an error body, an error frame, or a task that failed with a code
	ErrorCode    string // code of an error body or error frame, also of a task that failed
	ErrorMessage string // its message, at most 1 KiB; it may quote the request, so it must not be logged
	ErrorStatus  int    // HTTP status inside an error frame (:HTTP_STATUS/400) or body (status_code)

	Content   bool // some of the model's output was seen: text, a tool call or a picture
	TextBytes int  // UTF-8 bytes of text and tool arguments; of frames that repeat the text so far, the longest
	Frames    int  // frames of a stream; 0 for other answers

	Closed   bool // no document or frame is open: the answer may end here
	Complete bool // it is closed and says that it ends: see [Meter.End]
	Opaque   bool // nothing could be read: compressed, or neither JSON nor a stream of events
	GaveUp   bool // a document was not JSON to its end; the Reading has what came before the fault
}

// Images returns the number of pictures to charge: usage.image_count, or else those counted in the answer; false if there is
// neither.
func (r *Reading) Images() (int64, bool) {
	if n, ok := r.Usage.Get(ImageCount); ok {
		return n, true
	}
	return int64(r.ImageCount), r.ImageCount > 0
}

// reading returns the facts of the answer so far, except Closed and Complete.
func (a *answer) reading() Reading {
	return Reading{
		Usage:         a.usage,
		Odd:           a.odd,
		FinishReasons: a.finishReasons(),
		ResponseID:    a.responseID,
		TaskID:        a.taskID,
		TaskStatus:    a.taskStatus,
		ImageCount:    a.pictures.count(),
		Failed:        a.failed,
		ErrorCode:     a.failure.code,
		ErrorMessage:  a.failure.message,
		ErrorStatus:   a.failure.status,
		Content:       a.hasContent,
		TextBytes:     a.textBytes(),
		Frames:        a.frames,
		GaveUp:        a.gaveUp,
	}
}

func (a *answer) finishReasons() (reasons []string) {
	for _, reason := range a.reasons {
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

func (a *answer) textBytes() (n int) {
	for i := range a.texts {
		n += a.texts[i].total()
	}
	return n
}
