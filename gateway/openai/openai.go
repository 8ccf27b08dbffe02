// Package openai translates between OpenAI's interface and the service's: requests of OpenAI's into requests of the service, and
// the service's answers, streams, tasks and errors into OpenAI's. docs/openai.md lists the choices that it makes where the two
// interfaces differ.
//
// Everything but its writer and its reader of forms is pure: no HTTP, no clock, and no state beyond one stream. Untranslated
// values pass unchanged, so numbers keep their digits. Requests are read strictly, because Sluice judges them and teams pay for
// them, answers leniently, because they are paid for already.
//
// In this package a raw value or text is JSON as it was received, with its escapes.
package openai

import "strconv"

// Paths of the service, relative to its base URL.
const (
	TextPath       = "services/aigc/text-generation/generation"
	MultimodalPath = "services/aigc/multimodal-generation/generation"
	ImagePath      = "services/aigc/image-generation/generation"
)

// Request is a request of the service.
type Request struct {
	Path   string // one of the constants above
	Body   []byte
	Model  string // the name that the client used; answers repeat it
	Stream bool   // needs the SSE header
	Async  bool   // needs the async header
	Usage  bool   // stream_options.include_usage: the stream ends with a chunk that has the usage
	Base64 bool   // response_format b64_json: the answer has the pictures instead of their addresses
}

// AppendModel appends one model: {"id","object":"model","created","owned_by"}. created is in seconds of Unix time.
func AppendModel(dst []byte, name string, created int64, owner string) []byte {
	dst = quoted(append(dst, `{"id":`...), name)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), created, 10)
	dst = quoted(append(dst, `,"owned_by":`...), owner)
	return append(dst, '}')
}

// AppendModels appends the list of models, in the order of their names here.
func AppendModels(dst []byte, names []string, created int64, owner string) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for _, name := range names {
		dst = AppendModel(next(dst), name, created, owner)
	}
	return append(dst, "]}"...)
}

// NoModel is the refusal of a model that the client may not see, or that does not exist.
func NoModel(name string) *Refusal {
	return &Refusal{
		Status: 404, Code: "model_not_found", Param: "model",
		Message: "The model " + string(quoted(nil, name)) + " does not exist or you do not have access to it.",
	}
}
