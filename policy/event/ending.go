package event

import (
	"bytes"
	"encoding/json"
)

// LongestEnding is the most bytes of the data of the event of a task's end.
const LongestEnding = 16 << 10

// Result is a picture of a task that ended.
type Result struct {
	URL    string `json:"url"`              // the service's address, for a day
	Stored string `json:"stored,omitempty"` // its address below Sluice's; empty: it is not stored
}

// Ended is the data of the event of a task's end: the members of head, a non-empty object, and the task's results.
// pending says that some are stored later. If that is too long, the results are left out, and the member truncated
// says so.
func Ended(head []byte, results []Result, pending bool) json.RawMessage {
	open, end := head[:len(head)-1:len(head)-1], "}"
	if pending {
		end = `,"pending":true}`
	}
	var list bytes.Buffer
	list.WriteString(`,"results":`)
	e := json.NewEncoder(&list)
	e.SetEscapeHTML(false)
	_ = e.Encode(append([]Result{}, results...)) // texts always encode
	list.Truncate(list.Len() - 1)                // the encoder's line end
	if whole := append(append(open, list.Bytes()...), end...); len(whole) <= LongestEnding {
		return whole
	}
	return append(append(open, `,"truncated":true`...), end...)
}
