package policy

// field is a member that the rules, the holds or the spans know by name. One list for all places, because several
// names mean the same in more than one.
type field uint8

// The known members. Those from fieldModel up to fieldScalars have their value kept, as a [value], when they stand
// where the list of places has them first.
const (
	fieldUnknown field = iota

	fieldModel
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
	fieldKnown // known, so that its case is checked, but of no interest
)

// place is an object of the document with the names known there. At a nil place none are known: that is so below
// everything unknown, below a tool's parameters and below a response format's schema.
type place map[string]field

// The places, by the path of their object. Names of other case than these are refused there: one parser's "Model" is
// another's "model".
var (
	placeTop = place{
		"model": fieldModel, "input": fieldInput, "parameters": fieldParameters,
	}
	placeInput = place{
		"messages": fieldMessages, "prompt": fieldPrompt, "history": fieldHistory,
		"negative_prompt": fieldKnown, "images": fieldKnown,
	}
	placeMessage = place{
		"role": fieldRole, "content": fieldContent, "name": fieldID, "tool_call_id": fieldID,
		"tool_calls": fieldToolCalls, "reasoning_content": fieldReasoningContent, "partial": fieldKnown,
	}
	placeItem = place{
		"text": fieldText, "image": fieldImage, "video": fieldMedia, "audio": fieldMedia, "type": fieldKnown,
		"min_pixels": fieldKnown, "max_pixels": fieldKnown, "fps": fieldKnown, "cache_control": fieldKnown,
	}
	placeToolCall = place{
		"index": fieldKnown, "id": fieldID, "type": fieldKnown, "function": fieldFunction,
	}
	placeCallFunction = place{
		"name": fieldID, "arguments": fieldText,
	}
	placeParameters = place{
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
	}
	placeTool = place{
		"type": fieldType, "function": fieldFunction,
	}
	placeToolFunction = place{
		"name": fieldName, "description": fieldDescription, "parameters": fieldParameters,
	}
	placeToolChoice = place{
		"type": fieldType, "function": fieldFunction,
	}
	placeChosenFunction = place{
		"name": fieldName,
	}
	placeResponseFormat = place{
		"type": fieldResponseType, "json_schema": fieldJSONSchema,
	}
	placeSchema = place{
		"name": fieldID, "description": fieldKnown, "schema": fieldKnown, "strict": fieldKnown,
	}
)

// maxKnown is the length of the longest known name; longer names are unknown without a look-up.
const maxKnown = 32

// find looks name up in lower case, the way every known name is written, with Unicode's simple folding: besides A–Z,
// U+017F (ſ) folds to s and U+212A (K) to k, and nothing else folds to an ASCII letter. same is false when the name
// is known but was spelled otherwise.
func (p place) find(name []byte) (f field, same bool) {
	if p == nil {
		return fieldUnknown, true
	}
	if f, ok := p[string(name)]; ok {
		return f, true
	}
	var lower [maxKnown]byte
	n := 0
	for i := 0; i < len(name); i, n = i+1, n+1 {
		if n == maxKnown {
			return fieldUnknown, true
		}
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			lower[n] = c | 0x20
		case c == 0xC5 && i+1 < len(name) && name[i+1] == 0xBF:
			lower[n] = 's'
			i++
		case c == 0xE2 && i+2 < len(name) && name[i+1] == 0x84 && name[i+2] == 0xAA:
			lower[n] = 'k'
			i += 2
		default:
			lower[n] = c
		}
	}
	f, ok := p[string(lower[:n])]
	return f, !ok
}
