// Package conversation is what a client and a model say to each other, whichever dialect the client speaks.
//
// A dialect is a reader of requests and a writer of answers, and nothing else. Its reader hands the turns of a request to a [Draft],
// which writes the service's request. Its writer, a [Dialect], gets what is new in the service's answer, which is read here
// once: by [Whole] if it arrived in one piece, and by a [Stream] frame after frame.
//
// All of it is pure: no HTTP, no clock, and no state beyond one stream. Values that mean the same in both forms pass unchanged, so
// numbers keep their digits. Requests are read strictly, because Sluice judges them and teams pay for them, answers leniently,
// because they are paid for already.
//
// In this package a raw value or text is JSON as it was received: a raw value is a JSON value, and a raw text what is between the
// quotes of a string, with its escapes.
package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"sluice/gateway/rawjson"
)

// Paths of the service, relative to its base URL.
const (
	TextPath       = "services/aigc/text-generation/generation"
	MultimodalPath = "services/aigc/multimodal-generation/generation"
	ImagePath      = "services/aigc/image-generation/generation"
)

// Request is a request of the service, and what the gateway must know of the client's.
type Request struct {
	Path     string // one of the constants above
	Body     []byte // holds no part of the client's
	Model    string // the name that the client used; answers repeat it
	Stream   bool   // needs the SSE header
	Async    bool   // needs the async header
	Base64   bool   // the answer has the pictures instead of their addresses
	Dialect  Dialect
	Whole    func(dst, native []byte) ([]byte, error) // translates an answer that has no Dialect; nil: it is not translated here
	Warnings []string                                 // what was left out: values of Sluice-Warning
	Tools    []string                                 // where the client's request has each tool, such as tools[2]; nil: at the same place
}

// Places returns params, which has the client's name of a field of the service's request, with each tool at its place in the client's.
func (r *Request) Places(params func(field string) string) func(field string) string {
	tools := r.Tools
	if tools == nil {
		return params
	}
	return func(field string) string {
		name := params(field)
		inside, of := strings.CutPrefix(name, "tools[")
		index, rest, _ := strings.Cut(inside, "]")
		if i, err := strconv.Atoi(index); of && err == nil && i >= 0 && i < len(tools) {
			return tools[i] + rest
		}
		return name
	}
}

// ErrNoRoom means that there is no memory for the service's request.
var ErrNoRoom = errors.New("there is no memory for the request")

// Models has what is known about models. A nil Resolve returns the name itself, a nil Room always has memory, and the other nil
// functions return false.
type Models struct {
	Resolve func(name string) string // translates a client's name to the service's
	Vision  func(model string) bool  // the model reads images: its chats take the multimodal path
	Sync    func(model string) bool  // the model makes images in its answer, without a task
	Thinks  func(model string) bool  // the model thinks first, unless the request says that it does not
	Room    func(bytes int64) bool   // takes memory for the service's request, or reports false

	Embeddings string // the service's path for embeddings

	MaxOutput func(model string) int64 // the most tokens that an answer may have; 0, or a nil function: unknown
}

// Lower lowers the bound of an answer, a raw number of tokens, to what the model gives, and warns of that. Any other value
// stays, for the rules to refuse.
func (m *Models) Lower(model, member string, bound []byte, w *Warnings) []byte {
	if m.MaxOutput == nil || bound == nil {
		return bound
	}
	most := m.MaxOutput(model)
	// ParseInt returns the largest number for one beyond its range, and 0 for no number
	if given, _ := strconv.ParseInt(string(bound), 10, 64); most == 0 || given <= most {
		return bound
	}
	w.Add(fmt.Sprintf("%s;given=%s;sent=%d", member, Brief(bound), most))
	return strconv.AppendInt(nil, most, 10)
}

// LowerBudget lowers the tokens of the thinking, a raw number, where the bound of the whole answer was lowered: else the thinking could
// use the whole answer. They keep their share of the bound. Any other value stays.
func LowerBudget(member string, budget, given, sent []byte, w *Warnings) []byte {
	most, _ := strconv.ParseUint(string(sent), 10, 63)
	asked, _ := strconv.ParseInt(string(budget), 10, 64)
	if bytes.Equal(given, sent) || most == 0 || asked <= 0 {
		return budget
	}
	bound, _ := strconv.ParseUint(string(given), 10, 63)
	high, low := bits.Mul64(min(uint64(asked), bound), most)
	lowered, _ := bits.Div64(high, low, bound)
	if lowered = max(lowered, 1); lowered == uint64(asked) {
		return budget
	}
	w.Add(fmt.Sprintf("%s;given=%s;sent=%d", member, Brief(budget), lowered))
	return strconv.AppendUint(nil, lowered, 10)
}

// Draft begins the service's request; pictures: the client's request has pictures. The sizes are as in [Models.Begin].
func (m *Models) Draft(r *Request, pictures bool, size, more int) (Draft, error) {
	model := m.Service(r.Model)
	if r.Path = TextPath; pictures || m.Sees(model) {
		r.Path = MultimodalPath
	}
	b, err := m.Begin(model, size, more)
	return Draft{body: append(b, `,"input":{"messages":[`...), Multimodal: r.Path == MultimodalPath}, err
}

// Begin begins the body of the service's request, with the name of its model. It takes memory for a body of size bytes beside the
// name, so that pictures are copied only once, and for more bytes.
func (m *Models) Begin(model string, size, more int) ([]byte, error) {
	size += len(model)
	if err := m.Ask(size + more); err != nil {
		return nil, err
	}
	return rawjson.Quote(append(make([]byte, 0, size), `{"model":`...), model), nil
}

// Service is the service's name of a model.
func (m *Models) Service(name string) string {
	if m.Resolve == nil {
		return name
	}
	return m.Resolve(name)
}

// Sees reports whether a model reads images.
func (m *Models) Sees(model string) bool { return m.Vision != nil && m.Vision(model) }

// Draws reports whether a model makes images without a task.
func (m *Models) Draws(model string) bool { return m.Sync != nil && m.Sync(model) }

// Thinking reports whether a model thinks first: as the request says, if it does, and else as the model does by itself.
func (m *Models) Thinking(model string, said, thinks bool) bool {
	if said {
		return thinks
	}
	return m.Thinks != nil && m.Thinks(model)
}

// Ask asks for memory for the service's request, before it is made.
func (m *Models) Ask(size int) error {
	if m.Room != nil && !m.Room(int64(size)) {
		return ErrNoRoom
	}
	return nil
}
