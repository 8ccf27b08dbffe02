// Package openai translates between OpenAI's interface and the service's own. A request in OpenAI's form becomes a body in the
// service's form; answers, streams, tasks and refusals of the service become OpenAI's. docs/openai.md lists the choices that it
// makes where OpenAI's reference and the service's differ.
//
// It computes and does nothing else: no HTTP, no clock, no state beyond one stream. What it does not translate passes as it is
// written, so numbers keep their digits. Requests are read strictly, because the result is judged and paid for; answers are
// read leniently, because they are paid for already.
package openai

// The paths of the service that requests are translated to, relative to its base URL.
const (
	TextPath       = "services/aigc/text-generation/generation"
	MultimodalPath = "services/aigc/multimodal-generation/generation"
	ImagePath      = "services/aigc/image-generation/generation"
)

// Request is a request in the service's form.
type Request struct {
	Path   string // one of the constants above
	Body   []byte
	Model  string // the name that the client used, which answers repeat
	Stream bool   // send the header that switches streaming on
	Async  bool   // send the header that makes a task
	Usage  bool   // stream_options.include_usage: the stream ends with a chunk of its usage
	Base64 bool   // response_format is b64_json: the client wants the pictures, not their addresses
}

// Models is what a translation must know about models. A nil function answers the name itself, or false.
type Models struct {
	Resolve func(name string) string // the service's name for the client's
	Vision  func(model string) bool  // reads images: chats take the multimodal path even without one
	Sync    func(model string) bool  // makes images synchronously
}

func (m *Models) resolve(name string) string {
	if m.Resolve == nil {
		return name
	}
	return m.Resolve(name)
}

func (m *Models) isVision(model string) bool { return m.Vision != nil && m.Vision(model) }
func (m *Models) isSync(model string) bool   { return m.Sync != nil && m.Sync(model) }
