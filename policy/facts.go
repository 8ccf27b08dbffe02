package policy

import (
	"slices"
	"sync"

	"sluice/policy/strictjson"
)

// field is a member that the rules, the holds or the spans know by name. One list serves all places of the document.
type field = strictjson.Field

// The known members. The values of those below fieldScalars are kept, as a [value].
const (
	fieldUnknown = strictjson.Unknown
	fieldIgnored = strictjson.Ignored

	fieldModel field = iota - 1
	fieldPrompt
	fieldNegativePrompt
	fieldSize
	fieldN
	fieldMaxImages
	fieldEnableInterleave
	fieldPromptExtend
	fieldStream
	fieldWatermark
	fieldSeed
	fieldResultFormat
	fieldTemperature
	fieldTopP
	fieldTopK
	fieldRepetitionPenalty
	fieldPresencePenalty
	fieldLogprobs
	fieldTopLogprobs
	fieldMaxPixels
	fieldMaxTokens
	fieldMaxCompletionTokens
	fieldIncrementalOutput
	fieldEnableThinking
	fieldThinkingBudget
	fieldCodeInterpreter
	fieldParallelToolCalls
	fieldHighResolution
	fieldImageHW
	fieldInput
	fieldParameters
	fieldMessages
	fieldTools
	fieldToolChoice
	fieldStop
	fieldResponseFormat
	fieldResponseType
	fieldJSONSchema
	fieldSchema
	fieldScalars // how many values are kept

	fieldHistory
	fieldRole
	fieldContent
	fieldReasoningContent
	fieldToolCalls
	fieldID // an id or a name: no U+0000
	fieldName
	fieldText
	fieldImage
	fieldMedia // video and audio
	fieldType
	fieldFunction
	fieldDescription
)

// The names known at each place of the document. In another case they are refused there: one parser's "Model" is
// another's "model".
var (
	placeTop = strictjson.NewNames(map[string]field{
		"model": fieldModel, "input": fieldInput, "parameters": fieldParameters,
	})
	placeInput = strictjson.NewNames(map[string]field{
		"messages": fieldMessages, "prompt": fieldPrompt, "history": fieldHistory,
		"negative_prompt": fieldIgnored, "images": fieldIgnored,
	})
	placeMessage = strictjson.NewNames(map[string]field{
		"role": fieldRole, "content": fieldContent, "name": fieldID, "tool_call_id": fieldID,
		"tool_calls": fieldToolCalls, "reasoning_content": fieldReasoningContent, "partial": fieldIgnored,
	})
	placeItem = strictjson.NewNames(map[string]field{
		"text": fieldText, "image": fieldImage, "video": fieldMedia, "audio": fieldMedia, "type": fieldIgnored,
		"min_pixels": fieldIgnored, "max_pixels": fieldIgnored, "fps": fieldIgnored, "cache_control": fieldIgnored,
	})
	placeToolCall = strictjson.NewNames(map[string]field{
		"index": fieldIgnored, "id": fieldID, "type": fieldIgnored, "function": fieldFunction,
	})
	placeCallFunction = strictjson.NewNames(map[string]field{
		"name": fieldID, "arguments": fieldText,
	})
	placeParameters = strictjson.NewNames(map[string]field{
		"result_format": fieldResultFormat, "temperature": fieldTemperature, "top_p": fieldTopP, "top_k": fieldTopK,
		"repetition_penalty": fieldRepetitionPenalty, "presence_penalty": fieldPresencePenalty,
		"logprobs": fieldLogprobs, "top_logprobs": fieldTopLogprobs, "max_pixels": fieldMaxPixels,
		"max_tokens": fieldMaxTokens, "max_completion_tokens": fieldMaxCompletionTokens, "stream": fieldStream,
		"incremental_output": fieldIncrementalOutput, "enable_thinking": fieldEnableThinking,
		"thinking_budget": fieldThinkingBudget, "enable_code_interpreter": fieldCodeInterpreter, "seed": fieldSeed,
		"stop": fieldStop, "tools": fieldTools, "tool_choice": fieldToolChoice,
		"parallel_tool_calls": fieldParallelToolCalls, "n": fieldN, "vl_high_resolution_images": fieldHighResolution,
		"vl_enable_image_hw_output": fieldImageHW, "response_format": fieldResponseFormat,
		"negative_prompt": fieldNegativePrompt, "size": fieldSize, "enable_interleave": fieldEnableInterleave,
		"max_images": fieldMaxImages, "prompt_extend": fieldPromptExtend, "watermark": fieldWatermark,
	})
	placeTool = strictjson.NewNames(map[string]field{
		"type": fieldType, "function": fieldFunction,
	})
	placeToolFunction = strictjson.NewNames(map[string]field{
		"name": fieldName, "description": fieldDescription, "parameters": fieldParameters,
	})
	placeToolChoice = strictjson.NewNames(map[string]field{
		"type": fieldType, "function": fieldFunction,
	})
	placeChosenFunction = strictjson.NewNames(map[string]field{
		"name": fieldName,
	})
	placeResponseFormat = strictjson.NewNames(map[string]field{
		"type": fieldResponseType, "json_schema": fieldJSONSchema,
	})
	placeSchema = strictjson.NewNames(map[string]field{
		"name": fieldID, "description": fieldIgnored, "schema": fieldSchema, "strict": fieldIgnored,
	})
)

// facts are the facts that the rules judge: the values of known members, and the first offender of each thing that can be wrong
// with an element of a list. The rules decide whether it is a fault, because the model may come after the list.
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
	markMedia            // the same for a video or an audio
	markData             // a data URI of another form than data:{mime};base64,{data}
	markPadding          // a data URI without the = at the end

	markImageFormat   // a data URI of a type that the service does not accept
	markImageType     // a data URI whose bytes are of another type
	markImageHeader   // an image whose header cannot be read
	markImageBytes    // an image of too many bytes
	markImageSides    // an image too small or too large
	markImageAlpha    // a PNG with an alpha channel
	markImageClear    // an image with another kind of transparency
	markImageAnimated // an animation

	markTool            // a tool that is not an object
	markToolType        // a tool of another type than function
	markToolFunction    // a tool without its function
	markToolName        // a function name with other characters, or too long
	markToolDescription // a description that is not a string
	markToolParameters  // parameters that are not an object

	markCount
)

// maxMarked bounds how many elements with the same mark are counted; later ones do not change the answer.
const maxMarked = 100

// anySet reports whether one of the members is set.
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

// offence is the first offender against a rule; count 0: no offence.
type offence struct {
	given string   // what was given, ready for a message unless text is set
	at    [2]int32 // its indices, for the brackets of the rule's field
	count int32    // offenders, up to maxMarked
	text  bool     // given is a client's text, which a message must quote
}

// factsPool keeps facts: they are the larger part of what a request would allocate here.
var factsPool = sync.Pool{New: func() any { return new(facts) }}
