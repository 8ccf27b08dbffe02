package meter

// Reading is what a Meter has read of one answer. The zero value of a field means that the answer did not say.
type Reading struct {
	Usage Usage // per number the largest that any part of the answer reported
	Odd   bool  // a usage number was ignored: negative, too large, a string, null where the interface knows no null

	FinishReasons []string // one per choice that ended, in the order of the choices; null and "null" are no end
	ResponseID    string   // request_id
	TaskID        string   // output.task_id
	TaskStatus    string   // output.task_status, as it came
	ImageCount    int      // pictures with an address that were counted in the answer; see [Reading.Images]

	Failed       bool   // an error body, an error frame, or a task that failed with a code
	ErrorCode    string // code of an error body or error frame, also of a task that failed
	ErrorMessage string // its message, at most 1 KiB; it may quote the request, so it belongs into no log
	ErrorStatus  int    // HTTP status inside an error frame (:HTTP_STATUS/400) or body (status_code)

	Content   bool // some of the model's output was seen: text, a tool call or a picture
	TextBytes int  // UTF-8 bytes of text and tool arguments; of frames that repeat the text so far, the longest
	Frames    int  // frames of a stream; 0 for other answers

	Closed   bool // nothing of it is half read: if its bytes ended in order here, that is all of it
	Complete bool // it is closed and came to an end of its own: see Meter.End
	Opaque   bool // nothing could be read: compressed, or neither JSON nor a stream of events
	GaveUp   bool // a document was not JSON to its end; what it said until then is in the Reading
}

// Images returns the pictures to charge: what usage.image_count told, or else those counted in the answer. It returns
// false when there is neither.
func (r *Reading) Images() (int64, bool) {
	if n, ok := r.Usage.Get(ImageCount); ok {
		return n, true
	}
	return int64(r.ImageCount), r.ImageCount > 0
}

// reading returns what the answer has said, but for Closed and Complete.
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
