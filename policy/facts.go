package policy

import (
	"slices"
	"sync"

	"sluice/policy/strictjson"
)

// facts are the facts that the rules judge: the values of known members, and the first offender of each thing that can be
// wrong with an element of a list. Whether it is a fault is for the rules: the model may come after the list.
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

// mark is something in an element of a list that a rule may object to.
type mark uint8

const (
	markNone        mark = iota
	markMessage          // a message that is not an object
	markRole             // a role that is absent or unknown
	markRoleUser         // a role other than user
	markSystem           // a system message
	markContent          // content that is neither string nor array, where it must be
	markContentText      // content that is a string
	markContentList      // content that is an array
	markItem             // a content item that is not an object
	markItemKind         // a content item that holds nothing known
	markItemMedia        // a content item that holds neither text nor image
	markText             // a text that is not a string
	markImage            // an image that is not a string
	markAddress          // an address of a form that the service does not fetch
	markMedia            // the same of a video or an audio
	markData             // a data URI of another form than data:{mime};base64,{data}
	markPadding          // a data URI without the = at the end

	markImageFormat   // a data URI of a type that the service does not take
	markImageType     // a data URI whose bytes are of another type
	markImageHeader   // an image whose header cannot be read
	markImageBytes    // an image of too many bytes
	markImageSides    // an image too small or too large
	markImageAlpha    // a PNG with an alpha channel
	markImageClear    // an image with transparency of another sort
	markImageAnimated // an animation

	markTool            // a tool that is not an object
	markToolType        // a tool of another type than function
	markToolFunction    // a tool without its function
	markToolName        // a function name with other characters, or too long
	markToolDescription // a description that is not a string
	markToolParameters  // parameters that are not an object

	markCount
)

// maxMarked is up to how many elements with the same mark are counted; later ones do not change the answer.
const maxMarked = 100

// anySet reports whether one of the members is there.
func (f *facts) anySet(members ...field) bool {
	return slices.ContainsFunc(members, func(m field) bool { return f.values[m].set() })
}

// mark notes a value at the current place in the lists. It describes only the first, so that the answer to a million
// offenders is no longer than to one. The value is quoted if a rule objects.
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

// note is mark with a description in place of a value.
func (f *facts) note(m mark, given string) {
	seen := &f.marks[m]
	if seen.count == 0 {
		seen.given, seen.at = given, f.at
	}
	seen.count = min(seen.count+1, maxMarked)
}

// offence is the first offender against a rule; count 0: there is none.
type offence struct {
	given string   // what was given, ready for a message unless text is set
	at    [2]int32 // its indices, for the brackets of the rule's field
	count int32    // offenders, up to maxMarked
	text  bool     // given is a client's text, which a message must quote
}

// factsPool keeps facts: they are the larger part of what a request would allocate here.
var factsPool = sync.Pool{New: func() any { return new(facts) }}
