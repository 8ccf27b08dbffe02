package policy

import (
	"math"

	"sluice/policy/strictjson"
)

// imageRules are the rules of endpoints 2 (synchronous images) and 3 (image tasks): image.sync is for 2, image.edit and
// image.interleave are for the two modes of 3. Each other rule's condition states its models.
var imageRules = []rule{
	{"image.model", whenImage, "model", modelName(),
		"3: | model | string | yes |", ModeRefuse},
	{"image.input", whenImage, "input", ofShape(fieldInput, strictjson.Object),
		"3: | input.messages | array | yes |", ModeRefuse},
	{"image.parameters", whenImage, "parameters", ofShape(fieldParameters, strictjson.Object),
		"1: | parameters | object | no |", ModeRefuse},
	{"image.messages", whenFormOnly, "input.messages", conversation(),
		"3: | input.messages | array | yes |", ModeRefuse},
	{"image.prompt", whenFormOnly, "input.prompt", ofShape(fieldPrompt, strictjson.String),
		"M: | text | string | Prompt text. |", ModeRefuse},
	{"image.messages.single", whenEditModel, "input.messages", singleTurn(),
		"3: Single-turn only: exactly one message with role user.", ModeRefuse},
	{"image.sync.messages", whenSync, "input.messages", singleTurn(),
		"2: One user message whose content array holds a text item with the prompt.", ModeRefuse},
	{"image.message", whenImage, "input.messages[]", without(markMessage, "an object"),
		"3: | input.messages | array | yes |", ModeRefuse},
	{"image.role", whenFormOnly, "input.messages[].role", without(markRole, "system, user, assistant or tool"),
		"M: | role | string | system, user, assistant or tool.", ModeRefuse},
	{"image.role.user", whenEditModel, "input.messages[].role", without(markRoleUser, "user"),
		"M: On the asynchronous image endpoint it must be user.", ModeRefuse},
	{"image.sync.role", whenSync, "input.messages[].role", without(markRoleUser, "user"),
		"2: One user message", ModeRefuse},
	{"image.content", whenFormOnly, "input.messages[].content", without(markContent, "a string or an array"),
		"M: | content | string or array |", ModeRefuse},
	{"image.content.array", whenJudged, "input.messages[].content", listContent(),
		"M: An array of content items for multimodal models and for the image endpoints.", ModeRefuse},
	{"image.content.item", whenImage, "input.messages[].content[]", without(markItem, "an object"),
		"M: An array of content items for multimodal models and for the image endpoints.", ModeRefuse},
	{"image.content.kind", whenEditModel, "input.messages[].content[]", without(markItemMedia, "a text or an image"),
		"3: Exactly one text item, plus image items (see Limits).", ModeRefuse},
	{"image.content.unknown", whenCounted, "input.messages[].content[]", without(markItemKind, "a text or an image"),
		"M: An array of content items for multimodal models and for the image endpoints.", ModeWarn},
	{"image.content.text", whenImage, "input.messages[].content[].text", without(markText, "a string"),
		"M: | text | string | Prompt text. |", ModeRefuse},
	{"image.prompt.single", whenEditModel, "input.messages[0].content", textItems(1, 1, "exactly one text item"),
		"3: Exactly one text item, plus image items (see Limits).", ModeRefuse},
	{"image.sync.prompt", whenSync, "input.messages[0].content", textItems(1, math.MaxInt, "a text item with the prompt"),
		"2: One user message whose content array holds a text item with the prompt.", ModeRefuse},
	{"image.prompt.length", whenEditModel, "input.messages[0].content",
		length(2000, func(q *Request) int { return q.PromptLength }),
		"L: Max 2,000 characters; each Chinese character, letter, digit or symbol counts as one; excess truncated;", ModeWarn},
	{"image.negative_prompt", whenJudged, "parameters.negative_prompt", ofShape(fieldNegativePrompt, strictjson.String),
		"2: | parameters.negative_prompt | string | no | Content to avoid. May be empty. |", ModeRefuse},
	{"image.negative_prompt.length", whenEditModel, "parameters.negative_prompt",
		length(500, func(q *Request) int { return int(q.facts.values[fieldNegativePrompt].count) }),
		"3: Max 500 characters; excess truncated.", ModeWarn},
	{"image.edit.images", whenEditingMode, "input.messages[0].content", imageItems(1, 4),
		"L: | Input images, editing mode (enable_interleave=false) | 1 to 4 images. |", ModeRefuse},
	{"image.interleave.images", whenInterleave, "input.messages[0].content", imageItems(0, 1),
		"L: | Input images, interleaved mode (enable_interleave=true) | 0 to 1 images. |", ModeRefuse},

	{"image.enable_interleave", whenEditModel, "parameters.enable_interleave", boolean(fieldEnableInterleave),
		"3: | parameters.enable_interleave | boolean | no |", ModeRefuse},
	{"image.interleave.stream", whenInterleave, "parameters.stream", coupling(),
		"3: requires stream=true and header X-Service-Sse: enable. |", ModeRefuse},
	{"image.interleave.stream.absent", whenInterleave.and("streamed", func(q *Request) bool { return q.Stream }), "parameters.stream",
		present(fieldStream, "true"),
		"3: | parameters.stream | boolean | no | Must be true in interleaved mode.", ModeWarn},
	{"image.stream", whenEditModel, "parameters.stream", boolean(fieldStream),
		"3: | parameters.stream | boolean | no |", ModeRefuse},
	{"image.edit.stream", whenEditingMode, "parameters.stream", notTrue(fieldStream, "false outside interleaved mode"),
		"3: Must be true in interleaved mode.", ModeWarn},
	{"image.n", whenCounted, "parameters.n", integer(fieldN, 1, maxCount),
		"3: Cost: unit price times number of successfully generated images, so n and max_images affect cost.", ModeRefuse},
	{"image.edit.n", whenEditingMode, "parameters.n", integer(fieldN, 1, 4),
		"3: Image editing: 1-4, default 4.", ModeRefuse},
	{"image.interleave.n", whenInterleave, "parameters.n", integer(fieldN, 1, 1),
		"3: Interleaved: must be 1.", ModeRefuse},
	{"image.interleave.max_images", whenInterleave, "parameters.max_images", integer(fieldMaxImages, 1, 5),
		"3: Interleaved mode only. 1-5, default 5.", ModeRefuse},
	{"image.edit.max_images", whenEditingMode, "parameters.max_images", noneOf(fieldMaxImages, "none outside interleaved mode"),
		"3: | parameters.max_images | integer | no | Interleaved mode only.", ModeWarn},
	{"image.prompt_extend", whenJudged, "parameters.prompt_extend", boolean(fieldPromptExtend),
		"2: | parameters.prompt_extend | boolean | no | Prompt rewriting. |", ModeRefuse},
	{"image.interleave.prompt_extend", whenInterleave, "parameters.prompt_extend",
		noneOf(fieldPromptExtend, "none outside editing mode"),
		"3: | parameters.prompt_extend | boolean | no | Image editing mode only.", ModeWarn},
	{"image.watermark", whenJudged, "parameters.watermark", boolean(fieldWatermark),
		"2: | parameters.watermark | boolean | no | |", ModeRefuse},
	{"image.seed", whenEditModel, "parameters.seed", integer(fieldSeed, 0, math.MaxInt32),
		"3: | parameters.seed | integer | no | Range [0, 2147483647].", ModeRefuse},

	{"image.sync.size", whenSync, "parameters.size", sizeForm(false),
		"2: | parameters.size | string | no | Format width*height. |", ModeRefuse},
	{"image.edit.size", whenEditingMode, "parameters.size", sizeForm(true),
		"3: 1K (default) or 2K: total pixels near 1280*1280 or 2048*2048", ModeRefuse},
	{"image.interleave.size", whenInterleave, "parameters.size", sizeForm(false),
		"3: | Image editing | 1 (recommended) | 1K (default) or 2K", ModeRefuse},
	{"image.edit.size.area", whenEditingMode, "parameters.size", area("768*768 to 2048*2048 pixels", maxArea),
		"3: total pixels within [768*768, 2048*2048]", ModeRefuse},
	{"image.interleave.size.area", whenInterleave, "parameters.size", area("768*768 to 1280*1280 pixels", maxAreaInterleave),
		"3: total pixels within [768*768, 1280*1280]", ModeRefuse},
	{"image.size.aspect", whenEditModel, "parameters.size", sizeIn("an aspect ratio from 1:4 to 4:1", size.inAspect),
		"3: aspect ratio within [1:4, 4:1]", ModeRefuse},
	{"image.size.multiple", whenEditingMode, "parameters.size", sizeIn("multiples of 16; the service rounds", size.inSteps),
		"3: actual values are multiples of 16.", ModeWarn},
}

// inputRules are the rules on the images in a request. The form of addresses and data URIs is judged on every path; the
// images themselves only for tasks of EDIT_IMAGE_MODELS, for which the document has bounds.
var inputRules = []rule{
	{"text.image", whenText, imagePath, without(markImage, "a string"), imageForm, ModeRefuse},
	{"text.image.address", whenText, imagePath, without(markAddress, addressWords), imageForm, ModeRefuse},
	{"text.image.data", whenText, imagePath, without(markData, dataWords), imageForm, ModeRefuse},
	{"text.image.padding", whenText, imagePath, without(markPadding, paddingWords), imageForm, ModeWarn},
	{"text.media.address", whenText, "input.messages[].content[].video or audio", without(markMedia, addressWords),
		"1: multimodal inputs (image, video, audio) for multimodal models.", ModeRefuse},
	{"image.image", whenImage, imagePath, without(markImage, "a string"), imageForm, ModeRefuse},
	{"image.image.address", whenImage, imagePath, without(markAddress, addressWords), imageForm, ModeRefuse},
	{"image.image.data", whenImage, imagePath, without(markData, dataWords), imageForm, ModeRefuse},
	{"image.image.padding", whenImage, imagePath, without(markPadding, paddingWords), imageForm, ModeWarn},

	{"image.image.format", whenTask, imagePath, without(markImageFormat, "image/jpeg, image/png, image/bmp or image/webp"),
		imageFormat, ModeRefuse},
	{"image.image.type", whenTask, imagePath, without(markImageType, "the bytes of the media type"),
		imageFormat, ModeRefuse},
	{"image.image.header", whenTask, imagePath, without(markImageHeader, "an image whose header can be read"),
		imageFormat, ModeRefuse},
	{"image.image.alpha", whenTask, imagePath, without(markImageAlpha, "no alpha channel"),
		imageFormat, ModeRefuse},
	{"image.image.transparency", whenTask, imagePath, without(markImageClear, "no transparency: what becomes of it is not stated"),
		imageFormat, ModeWarn},
	{"image.image.animation", whenTask, imagePath, without(markImageAnimated, "a single image"),
		imageFormat, ModeRefuse},
	{"image.image.sides", whenTask, imagePath, without(markImageSides, "width and height from 240 to 8000"),
		"L: Width and height each 240 to 8,000 pixels.", ModeRefuse},
	{"image.image.bytes", whenTask, imagePath, bounded(markImageBytes, "at most 10485760 bytes decoded", "10485760"),
		"L: | Input image size | Max 10 MB. |", ModeRefuse},
}

const (
	imagePath    = "input.messages[].content[].image"
	imageForm    = "M: Public HTTP/HTTPS URL, or Base64 data URI of the form data:{mime_type};base64,{data}."
	imageFormat  = "L: | Input image formats | JPEG, JPG, PNG (no alpha channel), BMP, WEBP. |"
	addressWords = "an http or https address without user information, or oss: with the header X-Service-OssResourceResolve: enable"
	dataWords    = "data:{mime_type};base64,{data}"
	paddingWords = "base64 with its = at the end"
)
