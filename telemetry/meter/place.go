package meter

// place is the position of a value in an answer. The few places that are read are here; everything else is nowhere and is
// stepped over, so that text that looks like usage is never taken for it.
type place uint8

const (
	nowhere place = iota

	// Objects.
	placeRoot
	placeOutput
	placeChoice
	placeMessage
	placeItem // of a message's content
	placeToolCall
	placeFunction
	placeResult // of an older image task
	placeUsage  // and every object inside it

	// Arrays.
	placeChoices
	placeContent // an array of items, or a string
	placeToolCalls
	placeResults

	// Values.
	placeRequestID
	placeCode
	placeErrorMessage
	placeStatusCode
	placeTaskID
	placeTaskStatus
	placeFinished
	placeFinishReason
	placeOutputReason // of an answer without choices
	placeIndex
	placeText
	placeReasoning
	placeArguments
	placeImage // an address
	placeNumber
	placeCount
)

// member is a name in an object and the place of its value.
type member struct {
	name string
	to   place
}

// members lists the names that are read in each object. In usage every name is a number's.
var members = [placeCount][]member{
	placeRoot: {
		{"output", placeOutput},
		{"usage", placeUsage},
		{"request_id", placeRequestID},
		{"code", placeCode},
		{"message", placeErrorMessage},
		{"status_code", placeStatusCode},
	},
	placeOutput: {
		{"choices", placeChoices},
		{"text", placeText},
		{"finish_reason", placeOutputReason},
		{"task_id", placeTaskID},
		{"task_status", placeTaskStatus},
		{"results", placeResults},
		{"finished", placeFinished},
		{"code", placeCode}, // older tasks fail with code and message in here
		{"message", placeErrorMessage},
	},
	placeChoice:   {{"message", placeMessage}, {"finish_reason", placeFinishReason}, {"index", placeIndex}},
	placeMessage:  {{"content", placeContent}, {"reasoning_content", placeReasoning}, {"tool_calls", placeToolCalls}},
	placeItem:     {{"text", placeText}, {"image", placeImage}},
	placeToolCall: {{"function", placeFunction}},
	placeFunction: {{"arguments", placeArguments}},
	placeResult:   {{"url", placeImage}},
}

// elements is the place of an array's elements.
var elements = [placeCount]place{
	placeChoices: placeChoice, placeContent: placeItem, placeToolCalls: placeToolCall, placeResults: placeResult,
}

// into returns the place of the named member of an object at p.
func (p place) into(name []byte) place {
	for _, m := range members[p] {
		if m.name == string(name) {
			return m.to
		}
	}
	return nowhere
}

// object returns the place of an object that stands at p, nowhere if none is expected.
func (p place) object() place {
	switch {
	case p == placeNumber:
		return placeUsage
	case p == placeUsage || len(members[p]) > 0:
		return p
	}
	return nowhere
}

// kept reports whether the text of a string at p matters, beyond its length.
func (p place) kept() bool { return p >= placeRequestID && p <= placeOutputReason || p == placeNumber }

// prose reports whether a string at p is the model's output, of which only the length matters, and its kind.
func (p place) prose() (kind int, ok bool) {
	switch p {
	case placeText, placeContent:
		return 0, true
	case placeReasoning:
		return 1, true
	case placeArguments:
		return 2, true
	}
	return 0, false
}
