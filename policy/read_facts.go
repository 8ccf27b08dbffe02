package policy

import "sluice/policy/strictjson"

// facts are what the rules look at: the values of known members, and the first offender of each thing that can be
// wrong with an element of a list. Which of it is a fault is for the rules to say: when an element is read, the model
// may not have been.
type facts struct {
	call     Call
	families families
	values   [fieldScalars]value
	marks    [markCount]offence

	textItems int  // text items of all messages
	forced    bool // tool_choice names a function
	stopKinds uint // the kinds of stop's elements: stopWords and so on
}

// families are the patterns of [Families] that the request's model fits.
type families struct {
	syncImage, editImage, thinking, vision, reasoning bool
}

func (f *Families) of(model string) families {
	return families{
		syncImage: MatchAny(f.SyncImage, model), editImage: MatchAny(f.EditImage, model),
		thinking: MatchAny(f.Thinking, model), vision: MatchAny(f.Vision, model),
		reasoning: MatchAny(f.Reasoning, model),
	}
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

// mark notes a value that offends at the reader's place in the lists. Only the first is described, so that a body of a
// million offenders makes no longer an answer than a body of one. It is quoted when a rule turns out to object.
func (r *reader) mark(m mark, v value) {
	given := v.text
	if v.shape != strictjson.String && given == "" {
		given = v.shape.String()
	}
	if seen := &r.req.facts.marks[m]; seen.count == 0 {
		seen.text = v.shape == strictjson.String
	}
	r.note(m, given)
}

// note is mark for what is not told by a value's type.
func (r *reader) note(m mark, given string) {
	seen := &r.req.facts.marks[m]
	if seen.count == 0 {
		seen.given, seen.at = given, r.at2
	}
	seen.count = min(seen.count+1, maxMarked)
}
