package gateway_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"sluice/policy"
)

// differences are all known differences between the two: first the refusals only by policy, then those only by the simulator.
var differences = []difference{
	{why: "policy takes integers only as they are written everywhere: what upstream makes of 1.0, 1e0 and -0 is not known; the simulator " +
		"goes by value",
		rule: "text.n text.seed text.top_k text.top_logprobs text.max_tokens text.thinking_budget text.max_pixels image.n image.edit.n " +
			"image.interleave.n image.interleave.max_images image.seed",
		when: func(_ sent, v policy.Finding) bool { return v.Given == "-0" || strings.ContainsAny(v.Given, ".eE") }},
	{why: "the same of token ids", rule: "text.stop.kind",
		when: func(s sent, _ policy.Finding) bool {
			return slices.Contains([]string{"[1.0]", "[-0]", "[[1.0]]"}, s.param("stop"))
		}},
	{why: "what parsers read differently, policy reads not at all; the simulator's parser takes the last of two, other cases and half a " +
		"surrogate pair",
		rule: "body", when: func(s sent, _ policy.Finding) bool { return s.more != "" }},
	{why: "a model's name is bounded by policy alone", rule: "text.model image.model",
		when: func(s sent, _ policy.Finding) bool { return len(s.model) == 257+2 }},
	{why: "a header that is neither enable nor disable, or both, is absent to the simulator, or its first line counts",
		rule: "header.async header.sse",
		when: func(s sent, v policy.Finding) bool {
			lines := s.header["X-Service-Async"]
			if v.Rule == "header.sse" {
				lines = s.header["X-Service-Sse"]
			}
			return slices.Contains(lines, "maybe") || len(lines) > 1 && lines[0] != lines[1]
		}},
	{why: "the prompt of the older form is judged beside messages too; the simulator then does not look at it",
		rule: "text.prompt image.prompt", when: has(`"prompt":5,"messages"`)},
	{why: "messages beside a prompt are judged on the older paths too; the simulator looks at the prompt alone", rule: "image.messages",
		when: func(s sent, _ policy.Finding) bool {
			return s.path == olderPath && strings.Contains(s.input, `"prompt":"a"`)
		}},
	{why: "the simulator holds tools to result_format on the text path only", rule: "text.result_format.tools", when: on(multimodalPath)},
	{why: "oss addresses without the resolve header, user information and hosts beyond ASCII are refused by policy; the simulator " +
		"does not fetch either",
		rule: "text.image.address image.image.address",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, "oss://") || strings.Contains(s.input, "u:p@") || strings.Contains(s.input, "ü")
		}},
	{why: "the simulator does not look at images that it makes no edit of", rule: "image.image.address image.image.data image.image",
		when: func(s sent, _ policy.Finding) bool { return s.formOnly() || s.is("llm-image") }},
	{why: "policy takes data URIs without parameters and with data", rule: "text.image.data image.image.data",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, ";q=1;") || strings.Contains(s.input, `base64,"`)
		}},
	{why: "addresses of video and audio are judged by policy alone", rule: "text.media.address",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, "ftp://") || strings.Contains(s.input, "nowhere")
		}},
	{why: "an empty size is no size; to the simulator it is absent", rule: "image.sync.size image.edit.size image.interleave.size",
		when: func(s sent, _ policy.Finding) bool { return s.param("size") == `""` }},
	{why: "interface.md bounds n for other image models by its meaning alone; the simulator does not judge their tasks' parameters",
		rule: "image.n",
		when: func(s sent, _ policy.Finding) bool { return s.path == imagePath && s.formOnly() }},
	{why: "interface.md does not say what a model that edits does on the multimodal path when nothing is interleaved: policy holds it to " +
		"editing, the simulator chats or interleaves",
		rule: `image.enable_interleave image.edit.n image.edit.size image.edit.size.area image.size.aspect image.edit.images ` +
			`image.negative_prompt image.watermark image.seed image.prompt_extend
			image.role.user image.content.kind image.content.array image.messages.single image.prompt.single image.image.address image.image.data`,
		when: func(s sent, _ policy.Finding) bool { return s.plainEdit() }},

	{why: "a model in no pattern chats where nothing says image; the simulator knows which models draw", rule: rulesOf("text."),
		when: func(s sent, _ policy.Finding) bool { return s.chatsByPolicy() && s.is("gen2.6-t2i") }},

	{why: "the same the other way round: the simulator judges what is drawn",
		when: func(s sent, _ policy.Finding) bool { return s.chatsByPolicy() && s.is("gen2.6-t2i") }},
	{why: "what a model that edits does where nothing is interleaved: the simulator judges it by the rules of chat, or of what is " +
		"interleaved", says: "InvalidParameter",
		when: func(s sent, _ policy.Finding) bool { return s.plainEdit() }},
	{why: "the same where enable_interleave is absent: interleaving, the simulator wants the header", says: "X-Service-Sse must be enable",
		when: func(s sent, _ policy.Finding) bool { return s.plainEdit() }},
	{why: "the same of a stream that ends in an error", says: "200 id:1", when: func(s sent, _ policy.Finding) bool { return s.plainEdit() }},
	{why: "a model in no pattern whose parameters say image is judged by form alone; the simulator knows which models chat",
		when: func(s sent, _ policy.Finding) bool { return s.formOnly() && s.path == multimodalPath }},
	{why: "a number beyond a double does not parse for the simulator; policy does not look at those that mean nothing where they stand",
		says: "Required body invalid", when: has("1e400")},
	{why: "an empty prompt is a prompt: interface.md has no lower bound", says: "input must hold messages or prompt",
		when: has(`"prompt":""`)},
	{why: "the same on the older paths", says: "input.prompt is required", when: has(`"prompt":""`)},
	{why: "the same of an image's text", says: "input.messages[0].content must hold", when: has(`"text":""`)},
	{why: "the older paths also take messages by policy: only the form of their input is specified", says: "input.prompt is required",
		when: func(s sent, _ policy.Finding) bool {
			return s.path == olderPath && strings.Contains(s.input, "messages")
		}},
	{why: "history is not in interface.md; the simulator knows its form", says: "input.history", when: has(`"history"`)},
	{why: "what a prompt instructs is for the model to say; the simulator wants the word json", says: "must contain the word json",
		when: has("json_object")},
	{why: "tools without result_format pass: the model's default is not known; the simulator's is text",
		says: "result_format must be message when tools is used",
		when: func(s sent, _ policy.Finding) bool {
			return s.param("result_format") == "" || s.param("result_format") == "null"
		}},
	{why: "a response format without a type passes: only a type that is given is judged", says: "response_format type must be one of",
		when: func(s sent, _ policy.Finding) bool {
			return slices.Contains([]string{"{}", `{"type":null}`}, s.param("response_format"))
		}},
	{why: "an empty name of a forced tool is a name", says: "tool_choice must be",
		when: has(`"tool_choice":{"type":"function","function":{"name":""}}`)},
	{why: "token ids below 0 pass: interface.md has no bound", says: "parameters.stop must be",
		when: func(s sent, _ policy.Finding) bool {
			return slices.Contains([]string{"[-1]", "[[-1]]"}, s.param("stop"))
		}},
	{why: "an empty array of content is warned of or passes", says: "content must not be empty", when: has(`"content":[]`)},
	{why: "an assistant may say nothing, with tool calls or not", says: "content must be a string or an array",
		when: has(`"role":"assistant"`)},
	{why: "a content item that holds nothing known is warned of", says: "must hold text, image, video or audio",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, "{}") || strings.Contains(s.input, `"file"`) || strings.Contains(s.input, `"image":null`) ||
				strings.Contains(s.input, `"text":null`)
		}},
	{why: "video and audio are judged by their addresses alone; the simulator wants strings, and frames in a list", says: "must be a string",
		when: func(s sent, _ policy.Finding) bool {
			return strings.Contains(s.input, `"video":[]`) || strings.Contains(s.input, `"video":5`) || strings.Contains(s.input, `"audio":[`) ||
				strings.Contains(s.input, `"audio":{`)
		}},
	{why: "a text model's array of content is warned of, whatever it holds", says: "of a text model holds text only", when: on(textPath)},
	{why: "a data URI without its = is warned of", says: "is not a Base64 data URI", when: has(";base64,QUI\"")},
	{why: "data: is a scheme, so its case does not count", says: "must be a public HTTP or HTTPS URL or a Base64 data URI",
		when: has("DATA:")},
	{why: "images are looked into only where they make a task; the simulator does so in every interleaved request", says: "input image 0",
		when: func(s sent, _ policy.Finding) bool {
			return s.path == multimodalPath && s.is("gen2.6-image") && strings.Contains(s.input, "data:")
		}},
	{why: "an item may hold a text and an image: policy counts both", says: "must be a text or an image item",
		when: has(`"text":"a","image"`)},
	{why: "unknown items are warned of outside editing", says: "must be a text or an image item",
		when: func(s sent, _ policy.Finding) bool { return s.is("llm-image") || s.formOnly() }},
	{why: "tasks of models that interface.md does not describe are judged by form: the simulator wants one message of the user",
		says: "input.messages",
		when: func(s sent, _ policy.Finding) bool { return s.path == imagePath && s.formOnly() }},
	{why: "parameters of the older paths are not in interface.md; the simulator bounds them as the newer ones", says: "parameters.",
		when: on(olderPath)},
	{why: "n of synchronous images has no upper bound in interface.md; the simulator draws a line at 100",
		says: "parameters.n must be in [1, 100]",
		when: func(s sent, _ policy.Finding) bool { return s.is("llm-image") && len(s.param("n")) >= 3 }},
	{why: "parameters that endpoint 2 does not show pass; the simulator judges them as in endpoint 3", says: "parameters.",
		when: func(s sent, _ policy.Finding) bool {
			return s.path == multimodalPath && s.is("llm-image") && slices.ContainsFunc([]string{"seed", "stream", "enable_interleave"},
				func(n string) bool { return s.param(n) != "" })
		}},
	{why: "a synchronous size has a form and no bound; the simulator reads five digits a side", says: "parameters.size must have the form",
		when: func(s sent, _ policy.Finding) bool {
			return s.param("size") == `"100000*1"`
		}},
}

// difference is a way in which the two differ, with its reason.
type difference struct {
	why  string
	rule string // a word of the rule by which only policy refuses; empty if only the simulator does
	says string // a word of the refusal only by the simulator
	when func(s sent, v policy.Finding) bool
}

func (d difference) matches(s sent, v policy.Finding, complaint string) bool {
	if (d.rule == "") != (v.Rule == "") || !strings.Contains(complaint, d.says) {
		return false
	}
	if d.rule != "" && !slices.Contains(strings.Fields(d.rule), v.Rule) {
		return false
	}
	return d.when == nil || d.when(s, v)
}

func has(text string) func(sent, policy.Finding) bool {
	return func(s sent, _ policy.Finding) bool { return strings.Contains(s.body(), text) }
}

func on(paths ...string) func(sent, policy.Finding) bool {
	return func(s sent, _ policy.Finding) bool { return slices.Contains(paths, s.path) }
}

// is reports whether the request's model is of a family, by the beginning of its name.
func (s sent) is(family string) bool { return strings.HasPrefix(s.model, `"`+family) }

// formOnly reports whether the request is for an image by a model of which interface.md specifies only the form.
func (s sent) formOnly() bool {
	return s.path == imagePath && !s.is("gen2.6-image") || s.path == olderPath || s.saysImage()
}

// saysImage reports whether a request for a model in no pattern has, on the multimodal path, parameters that text lacks.
func (s sent) saysImage() bool {
	given := func(name string) bool { return s.param(name) != "" && s.param(name) != "null" }
	n, err := strconv.ParseUint(s.param("n"), 10, 64)
	return s.path == multimodalPath && !s.is("gen2.6-image") && !s.is("llm-image") && !s.saysChat() &&
		(err == nil && n > 4 || errors.Is(err, strconv.ErrRange) || given("size") || given("watermark") || given("prompt_extend") ||
			given("negative_prompt"))
}

// saysChat reports whether a request on the multimodal path has parameters that only chats have.
func (s sent) saysChat() bool {
	given := func(name string) bool { return s.param(name) != "" && s.param(name) != "null" }
	return s.path == multimodalPath && (slices.ContainsFunc([]string{"tools", "tool_choice", "temperature", "top_p", "top_k"}, given) ||
		strings.Contains(s.input, `"messages":[{`) && (strings.Count(s.input, `"role"`) != 1 || !strings.Contains(s.input, `"role":"user"`)))
}

// chatsByPolicy reports whether policy takes a request on the multimodal path, for a model in no pattern, for a chat.
func (s sent) chatsByPolicy() bool { return s.path == multimodalPath && !s.saysImage() }

// rulesOf lists the rules of a kind.
func rulesOf(kind string) string {
	return strings.Join(slices.DeleteFunc(policy.RuleIDs(), func(id string) bool { return !strings.HasPrefix(id, kind) }), " ")
}

// plainEdit reports whether a request on the multimodal path, for a model that edits, is not interleaved.
func (s sent) plainEdit() bool {
	return s.path == multimodalPath && s.is("gen2.6-image") && s.param("enable_interleave") != "true"
}
