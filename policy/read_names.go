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
	fieldKnown // known, so that its case is checked, but of no interest
)

// place is an object of the document with the names known there, by their length: a handful of comparisons is faster
// than a hash. At a nil place none are known: that is so below everything unknown, below a tool's parameters and below
// a response format's schema.
type place [maxKnown + 1][]known

// known is one known name, in lower case as all of them are.
type known struct {
	name  string
	field field
}

func newPlace(names map[string]field) *place {
	p := new(place)
	for name, f := range names {
		p[len(name)] = append(p[len(name)], known{name, f})
	}
	return p
}

// The places, by the path of their object. Names of other case than these are refused there: one parser's "Model" is
// another's "model".
var (
	placeTop = newPlace(map[string]field{
		"model": fieldModel, "input": fieldInput, "parameters": fieldParameters,
	})
	placeInput = newPlace(map[string]field{
		"messages": fieldMessages, "prompt": fieldPrompt, "history": fieldHistory,
		"negative_prompt": fieldKnown, "images": fieldKnown,
	})
	placeMessage = newPlace(map[string]field{
		"role": fieldRole, "content": fieldContent, "name": fieldID, "tool_call_id": fieldID,
		"tool_calls": fieldToolCalls, "reasoning_content": fieldReasoningContent, "partial": fieldKnown,
	})
	placeItem = newPlace(map[string]field{
		"text": fieldText, "image": fieldImage, "video": fieldMedia, "audio": fieldMedia, "type": fieldKnown,
		"min_pixels": fieldKnown, "max_pixels": fieldKnown, "fps": fieldKnown, "cache_control": fieldKnown,
	})
	placeToolCall = newPlace(map[string]field{
		"index": fieldKnown, "id": fieldID, "type": fieldKnown, "function": fieldFunction,
	})
	placeCallFunction = newPlace(map[string]field{
		"name": fieldID, "arguments": fieldText,
	})
	placeParameters = newPlace(map[string]field{
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
	placeTool = newPlace(map[string]field{
		"type": fieldType, "function": fieldFunction,
	})
	placeToolFunction = newPlace(map[string]field{
		"name": fieldName, "description": fieldDescription, "parameters": fieldParameters,
	})
	placeToolChoice = newPlace(map[string]field{
		"type": fieldType, "function": fieldFunction,
	})
	placeChosenFunction = newPlace(map[string]field{
		"name": fieldName,
	})
	placeResponseFormat = newPlace(map[string]field{
		"type": fieldResponseType, "json_schema": fieldJSONSchema,
	})
	placeSchema = newPlace(map[string]field{
		"name": fieldID, "description": fieldKnown, "schema": fieldSchema, "strict": fieldKnown,
	})
)

// maxKnown is the length of the longest known name; longer names are unknown without a look-up.
const maxKnown = 32

// find looks name up in lower case, the way every known name is written, with Unicode's simple folding: besides A–Z,
// U+017F (ſ) folds to s and U+212A (K) to k, and nothing else folds to an ASCII letter. same is false when the name
// is known but was spelled otherwise.
func (p *place) find(name []byte) (f field, same bool) {
	if p == nil {
		return fieldUnknown, true
	}
	if f := p.exactly(name); f != fieldUnknown {
		return f, true
	}
	var buf [maxKnown]byte
	lower, folded := fold(buf[:0], name)
	if !folded {
		return fieldUnknown, true
	}
	f = p.exactly(lower)
	return f, f == fieldUnknown
}

// exactly is the field with the name as it is spelled.
func (p *place) exactly(name []byte) field {
	if len(name) > maxKnown {
		return fieldUnknown
	}
	for i := range p[len(name)] {
		if k := &p[len(name)][i]; k.name == string(name) {
			return k.field
		}
	}
	return fieldUnknown
}

// fold appends name in lower case to dst and reports whether that made a difference and fits into dst.
func fold(dst, name []byte) (lower []byte, folded bool) {
	for i := 0; i < len(name); i++ {
		if len(dst) == cap(dst) {
			return dst, false
		}
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c, folded = c|0x20, true
		case c == 0xC5 && i+1 < len(name) && name[i+1] == 0xBF:
			c, folded = 's', true
			i++
		case c == 0xE2 && i+2 < len(name) && name[i+1] == 0x84 && name[i+2] == 0xAA:
			c, folded = 'k', true
			i += 2
		}
		dst = append(dst, c)
	}
	return dst, folded
}
