package meter

// End returns what the answer has said so far. It may be called at any time and changes nothing, so that reading can
// go on after it.
//
// A JSON answer is complete when its document was closed. A stream is complete when its last frame was closed and it
// has told its own end: every choice has a finish reason, the task's status is final or output.finished was true, or an
// error frame came. Whether the bytes themselves ended in order only the caller knows; where they did, a stream that is
// closed is whole although it told no end.
func (m *Meter) End() Reading {
	if m.form == opaque || m.strange && m.form == document {
		return Reading{Opaque: true}
	}
	rest := *m // what is not closed yet counts as far as it came, but more may follow
	closed := rest.close()
	return Reading{
		Usage:         rest.usage,
		Odd:           rest.odd,
		FinishReasons: rest.finishReasons(),
		ResponseID:    rest.responseID,
		TaskID:        rest.taskID,
		TaskStatus:    rest.taskStatus,
		ImageCount:    rest.pictures.count(),
		Failed:        rest.failed,
		ErrorCode:     rest.failure.code,
		ErrorMessage:  rest.failure.message,
		ErrorStatus:   rest.failure.status,
		Content:       rest.hasContent,
		TextBytes:     rest.textBytes(),
		Frames:        rest.frames,
		Closed:        closed,
		Complete:      closed && (rest.form == document || rest.ended()),
		GaveUp:        rest.gaveUp,
	}
}

// close settles the last document and says whether nothing of it is missing.
func (m *Meter) close() bool {
	closed := m.state == atEnd
	if m.form == document {
		m.data = true
		m.settle(!closed)
		return closed
	}
	if m.data || m.isError { // a last frame without the empty line
		if closed || m.isError {
			m.frames++
		}
		m.settle(!closed)
		return closed
	}
	return m.frames > 0
}

// ended says whether a stream has told its end.
func (m *Meter) ended() bool {
	if m.finished || m.failed {
		return true
	}
	switch m.taskStatus {
	case "SUCCEEDED", "FAILED", "CANCELED", "CANCELLED":
		return true
	}
	for i, reason := range m.reasons {
		if m.seen&(1<<i) != 0 && reason == "" {
			return false
		}
	}
	return m.seen != 0
}

func (m *Meter) finishReasons() []string {
	n := 0
	for _, reason := range m.reasons {
		if reason != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	reasons := make([]string, 0, n)
	for _, reason := range m.reasons {
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

func (m *Meter) textBytes() int {
	n := 0
	for i := range m.texts {
		n += m.texts[i].total()
	}
	return n
}
