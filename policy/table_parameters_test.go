package policy_test

import "slices"

var parameterCases = []ruleCase{
	{
		id: "text.result_format", call: "text",
		pass:   param("result_format", `"text"`, `"message"`, `null`),
		breach: param("result_format", `"json"`, `"Message"`, `5`, `""`),
	},
	{
		id: "text.result_format.thinking", call: "text",
		pass: []string{textBody("llm-think", `"result_format":"message"`), textBody("llm-think", `"result_format":"text","enable_thinking":false`),
			textBody("llm-max", `"result_format":"text","enable_thinking":true`), textBody("llm-think", ``),
		},
		breach: []string{
			textBody("llm-think", `"result_format":"text","enable_thinking":true`),
			textBody("llm-think", `"result_format":"text"`),
		},
	},
	{
		id: "text.result_format.vision?", call: "text",
		pass: textModel(
			"llm-vl", "result_format", `"message"`, `null`), breach: textModel("llm-vl", "result_format", `"text"`),
	},

	{
		id: "text.temperature", call: "text",
		pass:   param("temperature", `0`, `0.0`, `1.9999999`, `1e-400`, `0.7`, `null`, `1`),
		breach: param("temperature", `2`, `2.0`, `2.0000000000000001`, `-0.1`, `1e400`, `"1"`, `true`),
	},
	{
		id: "text.temperature.visual?", call: "text",
		pass:   textModel("llm-vl", "temperature", `1`),
		breach: textModel("llm-see", "temperature", `1`, `0.5`),
	},
	{
		id: "text.top_p", call: "text",
		pass:   param("top_p", `1`, `1.0`, `0.0001`, `null`),
		breach: param("top_p", `0`, `1.01`, `-1`, `"0.8"`, `1e-400`, `1e400`),
	},
	{
		id: "text.top_p.visual?", call: "text",
		pass:   textModel("llm-reason", "top_p", `0.5`),
		breach: textModel("llm-see", "top_p", `0.5`),
	},
	{
		id: "text.top_k", call: "text",
		pass:   param("top_k", `0`, `1`, `100`, `null`),
		breach: param("top_k", `-1`, `1.5`, `"50"`, `-99999999999999999999`, `-0`),
	},
	{
		id: "text.top_k.disabled?", call: "text",
		pass:   param("top_k", `100`),
		breach: param("top_k", `101`, `99999999999999999999`),
	},
	{
		id: "text.top_k.visual?", call: "text",
		breach: textModel("llm-see", "top_k", `10`),
	},
	{
		id: "text.repetition_penalty", call: "text",
		pass:   param("repetition_penalty", `1`, `0.01`, `9`, `null`),
		breach: param("repetition_penalty", `0`, `-1`, `"1"`),
	},
	{
		id: "text.repetition_penalty.visual?", call: "text",
		breach: textModel("llm-see", "repetition_penalty", `1`),
	},
	{
		id: "text.presence_penalty", call: "text",
		pass:   param("presence_penalty", `-2`, `2.0`, `0`, `null`),
		breach: param("presence_penalty", `-2.01`, `2.01`, `"0"`),
	},
	{
		id: "text.presence_penalty.visual?", call: "text",
		breach: textModel("llm-see", "presence_penalty", `1`),
	},

	{
		id: "text.logprobs", call: "text",
		pass:   param("logprobs", slices.Clone(booleans)...),
		breach: param("logprobs", slices.Clone(notBooleans)...),
	},
	{
		id: "text.top_logprobs", call: "text",
		pass:   param("top_logprobs", `0,"logprobs":true`, `5,"logprobs":true`, `null`),
		breach: param("top_logprobs", `-1,"logprobs":true`, `6,"logprobs":true`, `"1","logprobs":true`),
	},
	{
		id: "text.top_logprobs.logprobs?", call: "text",
		breach: param("top_logprobs", `3`, `3,"logprobs":false`, `0,"logprobs":null`),
	},
	{
		id: "text.max_tokens", call: "text",
		pass:   param("max_tokens", `1`, `999999999`, `null`),
		breach: param("max_tokens", `0`, `-1`, `1.0`, `"10"`),
	},
	{
		id: "text.max_completion_tokens", call: "text",
		pass:   param("max_completion_tokens", `1`),
		breach: param("max_completion_tokens", `0`),
	},
	{
		id: "text.stream", call: "text+sse",
		pass:   param("stream", `true`, `null`),
		breach: param("stream", slices.Clone(notBooleans)...),
	},
	{
		id: "text.stream.header?", call: "text",
		pass:   param("stream", `false`, `null`),
		breach: param("stream", `true`),
	},
	{
		id: "text.stream.header?", call: "text+sse",
		pass:   param("stream", `true`, `null`),
		breach: param("stream", `false`),
	},
	{
		id: "text.incremental_output", call: "text",
		pass:   param("incremental_output", slices.Clone(booleans)...),
		breach: param("incremental_output", slices.Clone(notBooleans)...),
	},
	{
		id: "text.enable_thinking", call: "text",
		pass:   param("enable_thinking", slices.Clone(booleans)...),
		breach: param("enable_thinking", slices.Clone(notBooleans)...),
	},
	{
		id: "text.thinking_budget", call: "text",
		pass:   param("thinking_budget", `0`, `4096`, `null`),
		breach: param("thinking_budget", `-1`, `1e3`, `"x"`),
	},
	{
		id: "text.enable_code_interpreter", call: "text",
		pass:   param("enable_code_interpreter", slices.Clone(booleans)...),
		breach: param("enable_code_interpreter", slices.Clone(notBooleans)...),
	},
	{
		id: "text.enable_code_interpreter.thinking?", call: "text",
		pass:   param("enable_code_interpreter", `true,"enable_thinking":true`, `false,"enable_thinking":false`),
		breach: param("enable_code_interpreter", `true,"enable_thinking":false`),
	},
	{
		id: "text.seed", call: "text",
		pass:   param("seed", `0`, `2147483647`, `null`),
		breach: param("seed", `-1`, `2147483648`, `1.0`, `"1"`),
	},
	{
		id: "text.stop", call: "text",
		pass:   param("stop", `"a"`, `["a","b"]`, `[1,2]`, `[[1,2],[3]]`, `[]`, `null`),
		breach: param("stop", `5`, `true`, `{}`),
	},
	{
		id: "text.stop.kind", call: "text",
		breach: param("stop", `[true]`, `[1.5]`, `[null]`, `[["a"]]`, `[{}]`, `["a",false]`),
	},
	{
		id: "text.stop.mixed", call: "text",
		breach: param("stop", `["a",1]`, `[1,[2]]`, `[[2],"a"]`),
	},
	{
		id: "text.n", call: "text",
		pass:   param("n", `1`, `4`, `null`),
		breach: param("n", `0`, `5`, `-1`, `1.0`, `"1"`, `-0`),
	},
	{
		id: "text.n.tools", call: "text",
		pass:   param("n", `1,"tools":[`+oneTool+`]`, `4,"tools":[]`, `4,"tools":null`),
		breach: param("n", `2,"tools":[`+oneTool+`]`, `4,"tools":[`+oneTool+`]`),
	},
	{
		id: "text.n.thinking", call: "text",
		pass:   param("n", `1,"enable_thinking":true`, `4,"enable_thinking":false`),
		breach: append(param("n", `2,"enable_thinking":true`), textModel("llm-think", "n", `2`)...),
	},
	{
		id: "text.n.vision", call: "text",
		pass:   textModel("llm-vl", "n", `1`),
		breach: textModel("llm-vl", "n", `2`),
	},

	{
		id: "text.response_format", call: "text",
		pass:   param("response_format", `{}`, `null`),
		breach: param("response_format", `"json_object"`, `[]`),
	},
	{
		id: "text.response_format.type", call: "text",
		pass:   param("response_format", `{"type":"text"}`, `{"type":"json_object"}`),
		breach: param("response_format", `{"type":"json"}`, `{"type":5}`),
	},
	{
		id: "text.response_format.schema", call: "text",
		pass: param(
			"response_format", `{"type":"json_schema","json_schema":{"name":"a","schema":{},"strict":true}}`,
			`{"json_schema":{"schema":{"type":"object"}},"type":"json_schema"}`,
		),
		breach: param(
			"response_format", `{"type":"json_schema"}`, `{"type":"json_schema","json_schema":null}`,
			`{"type":"json_schema","json_schema":"x"}`, `{"type":"json_schema","json_schema":{"name":"a"}}`,
			`{"type":"json_schema","json_schema":{"schema":"{}"}}`,
		),
	},
	{
		id: "text.vl_high_resolution_images", call: "text",
		pass:   param("vl_high_resolution_images", slices.Clone(booleans)...),
		breach: param("vl_high_resolution_images", slices.Clone(notBooleans)...),
	},
	{
		id: "text.vl_enable_image_hw_output", call: "text",
		pass:   param("vl_enable_image_hw_output", slices.Clone(booleans)...),
		breach: param("vl_enable_image_hw_output", slices.Clone(notBooleans)...),
	},
	{
		id: "text.max_pixels", call: "text",
		pass:   param("max_pixels", `1`, `99999999`, `1003520,"vl_high_resolution_images":false`),
		breach: param("max_pixels", `0`, `"1"`, `1.5`),
	},
	{
		id: "text.max_pixels.high_resolution?", call: "text",
		breach: param("max_pixels", `1003520,"vl_high_resolution_images":true`),
	},
	{
		id: "text.max_pixels.limit?", call: "text",
		pass:   textModel("llm-vl", "max_pixels", `16777216`),
		breach: textModel("llm-vl", "max_pixels", `16777217`),
	},
	{
		id: "text.max_pixels.visual?", call: "text",
		pass:   textModel("llm-see", "max_pixels", `12845056`),
		breach: textModel("llm-see", "max_pixels", `12845057`),
	},
}
