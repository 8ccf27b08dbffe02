package policy

// inputRules are the rules on the images in a request. The form of addresses and data URIs is judged on every path; the
// images themselves only for tasks of EDIT_IMAGE_MODELS, for which the document has bounds.
var inputRules = []rule{
	{"text.image", whenText, imagePath, seen(markImage, "a string"), imageForm, ModeRefuse},
	{"text.image.address", whenText, imagePath, seen(markAddress, addressWords), imageForm, ModeRefuse},
	{"text.image.data", whenText, imagePath, seen(markData, dataWords), imageForm, ModeRefuse},
	{"text.image.padding", whenText, imagePath, seen(markPadding, paddingWords), imageForm, ModeWarn},
	{"text.media.address", whenText, "input.messages[].content[].video or audio", seen(markMedia, addressWords),
		"1: multimodal inputs (image, video, audio) for multimodal models.", ModeRefuse},
	{"image.image", whenImage, imagePath, seen(markImage, "a string"), imageForm, ModeRefuse},
	{"image.image.address", whenImage, imagePath, seen(markAddress, addressWords), imageForm, ModeRefuse},
	{"image.image.data", whenImage, imagePath, seen(markData, dataWords), imageForm, ModeRefuse},
	{"image.image.padding", whenImage, imagePath, seen(markPadding, paddingWords), imageForm, ModeWarn},

	{"image.image.format", whenTask, imagePath, seen(markImageFormat, "image/jpeg, image/png, image/bmp or image/webp"),
		imageFormat, ModeRefuse},
	{"image.image.type", whenTask, imagePath, seen(markImageType, "the bytes of the media type"),
		imageFormat, ModeRefuse},
	{"image.image.header", whenTask, imagePath, seen(markImageHeader, "an image whose header can be read"),
		imageFormat, ModeRefuse},
	{"image.image.alpha", whenTask, imagePath, seen(markImageAlpha, "no alpha channel"),
		imageFormat, ModeRefuse},
	{"image.image.transparency", whenTask, imagePath, seen(markImageClear, "no transparency: what becomes of it is not stated"),
		imageFormat, ModeWarn},
	{"image.image.animation", whenTask, imagePath, seen(markImageAnimated, "a single image"),
		imageFormat, ModeRefuse},
	{"image.image.sides", whenTask, imagePath, seen(markImageSides, "width and height from 240 to 8000"),
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
