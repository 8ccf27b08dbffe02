package policy

import "sluice/policy/strictjson"

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
