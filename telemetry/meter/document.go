package meter

// maxDepth is how deep a document is read; deeper values are skipped. The deepest known place is at six.
const maxDepth = 12

// document passes the values at known places of one document, which arrives in pieces, to the answer.
type document struct {
	scan   scanner
	answer *answer
	root   place // of the whole document; nowhere: placeRoot
	place  place // of the next value, or the one being read
	depth  int8
	levels [maxDepth]level

	pathLen uint8
	path    [maxPath]byte // of the usage number being read, below usage
}

// level is an open object or array.
type level struct {
	place  place
	prefix uint8 // in usage: length of the path that names the object
}

// restart begins another document.
func (d *document) restart() {
	d.scan.restart()
	d.place, d.depth = max(d.root, placeRoot), 0
}

// read takes the next piece.
func (d *document) read(p []byte) {
	for d.scan.feed(p); ; {
		switch d.scan.next() {
		case scanMore, scanFault:
			return
		case scanOpened:
			d.open()
		case scanClosed:
			d.leave()
		case scanNamed:
			d.place = d.name()
			d.scan.keep = d.place.kept()
		case scanPart:
			d.measure()
		case scanEnded:
			d.measure()
			d.takeString()
		case scanWord:
			d.takeWord()
		}
	}
}

// open enters an object or array at a known place, and skips any other.
func (d *document) open() {
	p := d.place.object()
	if d.scan.array {
		d.answer.Odd = d.answer.Odd || d.place == placeUsage
		if p = d.place; elements[p] == nowhere {
			p = nowhere
		}
	}
	if p == nowhere || d.depth == maxDepth {
		d.scan.skipRest()
		return
	}
	d.levels[d.depth] = level{place: p}
	d.depth++
	switch d.place = elements[p]; p {
	case placeChoice, placeChatChoice:
		d.answer.beginChoice()
	case placeToolCall:
		d.answer.Content = true
	case placeUsage:
		d.openUsage()
	}
}

// openUsage makes the names in a nested object of the usage continue its path.
func (d *document) openUsage() {
	top := d.depth - 1
	if d.levels[top-1].place != placeUsage {
		return
	}
	if d.pathLen < maxPath {
		d.path[d.pathLen] = '.'
		d.pathLen++
	}
	d.levels[top].prefix = d.pathLen
}

func (d *document) leave() {
	d.depth--
	if p := d.levels[d.depth].place; p == placeChoice || p == placeChatChoice {
		d.answer.endChoice()
	}
	if d.depth > 0 {
		d.place = elements[d.levels[d.depth-1].place]
	}
}

// name returns the place of the member whose name was read.
func (d *document) name() place {
	name, top := d.scan.found, &d.levels[d.depth-1]
	switch {
	case d.scan.over:
		return nowhere
	case top.place != placeUsage:
		return top.place.into(name)
	case int(top.prefix)+len(name) > maxPath:
		return nowhere
	}
	d.pathLen = top.prefix + uint8(copy(d.path[top.prefix:], name))
	return placeNumber
}

// measure takes a part of a text or an address.
func (d *document) measure() {
	if t := d.answer.text(d.place); t != nil {
		t.addBytes(d.scan.part, d.scan.decoded)
	} else if d.place == placeImage {
		d.answer.pictures.addBytes(d.scan.part)
	}
}

// takeString takes a whole string. A string in the usage where a number belongs makes the answer odd.
func (d *document) takeString() {
	switch d.place {
	case nowhere:
	case placeUsage:
		d.answer.Odd = true
	case placeNumber:
		d.answer.Odd = !d.scan.over && !d.answer.Usage.takeText(d.path[:d.pathLen], d.scan.found) || d.answer.Odd
	default:
		d.answer.takeString(d.place, d.scan.found, d.scan.over)
	}
}

// takeWord takes a whole number or literal.
func (d *document) takeWord() {
	switch token := d.scan.found; d.place {
	case placeUsage:
		d.answer.Odd = d.answer.Odd || token[0] != 'n'
	case placeNumber:
		d.answer.takeNumber(d.number(), token, d.scan.over)
	default:
		d.answer.takeWord(d.place, token)
	}
}

// serviceNames maps usage names of other dialects to the service's.
var serviceNames = map[string][]byte{
	"prompt_tokens": []byte("input_tokens"), "completion_tokens": []byte("output_tokens"), "cache_read_input_tokens": []byte("cached_tokens"),
}

// number returns the path of the usage number being read, in the service's names.
func (d *document) number() []byte {
	path := d.path[:d.pathLen]
	if d.root == nowhere {
		return path
	}
	if name, ok := serviceNames[string(path)]; ok {
		return name
	}
	return path
}

// place is the position of a value in an answer. The few known places are listed here; everything else is nowhere and is skipped, so
// text that looks like usage is never taken for it.
type place uint8

const (
	nowhere place = iota

	// Objects.
	placeRoot
	placeChat      // a document of OpenAI's chat completions
	placeResponses // of OpenAI's Responses
	placeMessages  // of Anthropic's Messages
	placeResponse  // the whole answer in an event of Responses
	placeMade      // an item of its output
	placeBegun     // the message in Messages' event message_start
	placeDelta     // the addition in an event of Messages
	placeError     // of these dialects
	placeOutput
	placeChoice
	placeChatChoice // of chat completions, and of completions
	placeMessage
	placeItem // of a message's content
	placeToolCall
	placeFunction
	placeResult // an item of an older image task
	placeUsage  // and every object inside it

	// Arrays.
	placeChoices
	placeChatChoices
	placeMadeAll
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
	placeEndStatus // of an answer of Responses
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

// members lists the known names of each object. In usage every name is known and has a number.
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
	placeChatChoice: {
		{"message", placeMessage},
		{"delta", placeMessage},
		{"text", placeText},
		{"finish_reason", placeFinishReason},
		{"index", placeIndex},
	},
	placeChat: {{"choices", placeChatChoices}, {"usage", placeUsage}, {"id", placeRequestID}, {"error", placeError}},
	placeResponses: {
		{"usage", placeUsage},
		{"id", placeRequestID},
		{"status", placeEndStatus},
		{"output", placeMadeAll},
		{"delta", placeText},
		{"response", placeResponse},
		{"error", placeError},
	},
	placeResponse: {{"usage", placeUsage}, {"id", placeRequestID}, {"status", placeEndStatus}, {"error", placeError}},
	placeMade:     {{"content", placeContent}, {"arguments", placeArguments}},
	placeMessages: {
		{"usage", placeUsage},
		{"id", placeRequestID},
		{"stop_reason", placeOutputReason},
		{"content", placeContent},
		{"message", placeBegun},
		{"delta", placeDelta},
		{"error", placeError},
	},
	placeBegun: {{"usage", placeUsage}, {"id", placeRequestID}},
	placeDelta: {{"text", placeText}, {"thinking", placeReasoning}, {"partial_json", placeArguments}, {"stop_reason", placeOutputReason}},
	placeError: {{"code", placeCode}, {"type", placeCode}, {"message", placeErrorMessage}},

	placeChoice:   {{"message", placeMessage}, {"finish_reason", placeFinishReason}, {"index", placeIndex}},
	placeMessage:  {{"content", placeContent}, {"reasoning_content", placeReasoning}, {"tool_calls", placeToolCalls}},
	placeItem:     {{"text", placeText}, {"image", placeImage}},
	placeToolCall: {{"function", placeFunction}},
	placeFunction: {{"arguments", placeArguments}},
	placeResult:   {{"url", placeImage}},
}

// elements are the places of an array's elements.
var elements = [placeCount]place{
	placeChoices: placeChoice, placeChatChoices: placeChatChoice, placeMadeAll: placeMade,
	placeContent: placeItem, placeToolCalls: placeToolCall, placeResults: placeResult,
}

// into returns the place of the member with this name in an object at p.
func (p place) into(name []byte) place {
	for _, m := range members[p] {
		if m.name == string(name) {
			return m.to
		}
	}
	return nowhere
}

// object returns the place of an object at p; nowhere if none is expected.
func (p place) object() place {
	switch {
	case p == placeNumber:
		return placeUsage
	case p == placeUsage || len(members[p]) > 0:
		return p
	}
	return nowhere
}

// kept reports whether the text of a string at p is needed, not only its length.
func (p place) kept() bool { return p >= placeRequestID && p <= placeOutputReason || p == placeNumber }

// prose returns the kind of a text at p; false: p has no text. Only the length of a text is measured.
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
