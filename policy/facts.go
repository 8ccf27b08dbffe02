package policy

import (
	"sync"

	"sluice/policy/strictjson"
)

// facts are what the rules look at: the values of known members, and the first offender of each thing that can be
// wrong with an element of a list. The rules say which of it is a fault: the model may stand behind the list.
type facts struct {
	call     Call
	families families
	values   [fieldScalars]value
	marks    [markCount]offence
	at       [2]int32 // indices of the message and item, or of the tool, being read

	textItems int  // text items of all messages
	forced    bool // tool_choice names a function
	stopKinds uint // the kinds of stop's elements: stopWords and so on
}

// mark is something that was seen in an element of a list and that a rule may object to.
type mark uint8

const (
	markMessage     mark = iota // a message that is no object
	markRole                    // a role that is absent or unknown
	markRoleUser                // a role other than user
	markSystem                  // a system message
	markContent                 // content that is neither string nor array, where it must be
	markContentText             // content that is a string
	markContentList             // content that is an array
	markItem                    // a content item that is no object
	markItemKind                // a content item that holds nothing known
	markItemMedia               // a content item that holds neither text nor image
	markText                    // a text that is no string
	markImage                   // an image that is no string
	markAddress                 // an address of other form than the service fetches
	markMedia                   // the same of a video or an audio
	markData                    // a data URI of other form than data:{mime};base64,{data}
	markPadding                 // a data URI without the = at the end

	markImageFormat   // a data URI of a type that is none of the service's
	markImageType     // a data URI whose bytes are not what its type says
	markImageHeader   // an image whose header cannot be read
	markImageBytes    // an image of too many bytes
	markImageSides    // an image too small or too large
	markImageAlpha    // a PNG with an alpha channel
	markImageClear    // an image with transparency of another sort
	markImageAnimated // an animation

	markTool            // a tool that is no object
	markToolType        // a tool of another type than function
	markToolFunction    // a tool without its function
	markToolName        // a function name with other characters, or too long
	markToolDescription // a description that is no string
	markToolParameters  // parameters that are no object

	markCount
)

// maxMarked is how many elements that offend in the same way are counted. What comes behind them makes the answer no other,
// and is not judged.
const maxMarked = 100

// mark notes a value that offends at the current place in the lists. Only the first is described, so that a body of a
// million offenders makes no longer an answer than a body of one. It is quoted when a rule turns out to object.
func (f *facts) mark(m mark, v value) {
	given := v.text
	if v.shape != strictjson.String && given == "" {
		given = v.shape.String()
	}
	if seen := &f.marks[m]; seen.count == 0 {
		seen.text = v.shape == strictjson.String
	}
	f.note(m, given)
}

// note is mark for what a value's type does not tell.
func (f *facts) note(m mark, given string) {
	seen := &f.marks[m]
	if seen.count == 0 {
		seen.given, seen.at = given, f.at
	}
	seen.count = min(seen.count+1, maxMarked)
}

// offence is the first offender against a rule; count 0 says that there is none.
type offence struct {
	given string   // what was given, fit for a message unless text says otherwise
	at    [2]int32 // its indices, where the rule's field has brackets
	count int32    // how many offenders there are, up to maxMarked
	text  bool     // given is a client's text, which a message must quote
}

// factsPool keeps facts: they are the larger part of what a request would allocate here.
var factsPool = sync.Pool{New: func() any { return new(facts) }}
