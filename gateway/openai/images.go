package openai

import (
	"encoding/base64"
	"regexp"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// Generation translates the body of POST /v1/images/generations. Its errors are of type [*conversation.Refusal]. The result holds no part
// of the body.
func Generation(body []byte, models *conversation.Models) (*conversation.Request, error) {
	p := imageRequest{parameters: make(conversation.Parameters, 0, conversation.Few)}
	if err := conversation.Members(body, nil, p.bounded); err != nil {
		return nil, err
	}
	return p.translate(len(body), models)
}

// imageRequest is a request for images. Values are raw.
type imageRequest struct {
	model, prompt []byte
	hasN          bool // n is given
	base64        bool
	images        []Part
	parameters    conversation.Parameters
}

// bounded takes a member of a JSON request, unless it is too long.
func (p *imageRequest) bounded(name, value []byte) error {
	most, unit := imageBound(string(name))
	if err := conversation.Bound(string(name), value, most, unit); err != nil {
		return err
	}
	return p.member(name, value)
}

func (p *imageRequest) member(name, value []byte) (err error) {
	switch string(name) {
	case "model":
		p.model = value
	case "prompt":
		p.prompt = value
	case "size":
		return p.size(value)
	case "response_format":
		p.base64, err = conversation.Either("response_format", value, "b64_json", "url")
	case "user", "safety_identifier":
		// accepted, but not sent to the service
	case "input", "result_format", "incremental_output":
		return conversation.Reserved(name)
	default:
		return p.parameter(name, value)
	}
	return err
}

// parameter takes a member that is passed on as a parameter of the service. A member without a counterpart at the service is dropped if it
// has OpenAI's default, and otherwise refused.
func (p *imageRequest) parameter(name, value []byte) error {
	idle := false
	switch string(name) {
	case "quality":
		idle = rawjson.IsWord(value, "auto") || rawjson.IsWord(value, "standard")
	case "style":
		idle = rawjson.IsWord(value, "vivid")
	case "background", "moderation":
		idle = rawjson.IsWord(value, "auto")
	case "output_format":
		idle = rawjson.IsWord(value, "png")
	case "output_compression":
		idle = string(value) == "100"
	case "input_fidelity":
		idle = rawjson.IsWord(value, "low")
	case "partial_images":
		idle = rawjson.IsZero(value)
	case "stream":
		idle = string(value) == "false"
	case "mask", "svg", "reasoning", "frame_count", "frame_duration_ms":
	default:
		p.hasN = p.hasN || string(name) == "n"
		p.parameters.Add(name, value)
		return nil
	}
	if idle {
		return nil
	}
	return conversation.BadRequest(string(name), "%s is not supported, except for its default.", name)
}

// size translates a size. The service's own words, such as 2K, pass; without a size, as for auto, the service chooses.
func (p *imageRequest) size(value []byte) error {
	if !rawjson.IsString(value) {
		return conversation.BadRequest("size", "size: a string is needed.")
	}
	word := rawjson.Decoded(value)
	if string(word) == "auto" {
		return nil
	}
	p.parameters.Add([]byte("size"), rawjson.Quote(nil, nativeSize(word)))
	return nil
}

// sizes matches sizes in OpenAI's form.
var sizes = regexp.MustCompile(`^([0-9]+)x([0-9]+)$`)

// nativeSize translates 1024x1024 to 1024*1024, and returns other texts as they are.
func nativeSize(size []byte) []byte { return sizes.ReplaceAll(size, []byte("$1*$2")) }

// translate writes the service's request. size is the length of the client's request without images.
func (p *imageRequest) translate(size int, models *conversation.Models) (*conversation.Request, error) {
	if err := conversation.CheckModel(p.model); err != nil {
		return nil, err
	}
	if !rawjson.IsString(p.prompt) || len(p.prompt) == 2 {
		return nil, conversation.BadRequest("prompt", "prompt: a text is needed.")
	}
	r := &conversation.Request{Path: conversation.ImagePath, Model: string(rawjson.Decoded(p.model)), Base64: p.base64, Async: true}
	model := models.Service(r.Model)
	if len(p.images) == 0 && models.Draws(model) {
		r.Path, r.Async = conversation.MultimodalPath, false
	}
	for _, image := range p.images { // the buffer is large enough, so that images are copied only once
		size += base64.StdEncoding.EncodedLen(len(image.Data)) + 64
	}
	b, err := models.Begin(model, size+256, 0)
	if err != nil {
		return nil, err
	}
	b = append(b, `,"input":{"messages":[{"role":"user","content":[`...)
	for _, image := range p.images {
		b = append(rawjson.Next(b), `{"image":"`...)
		b = append(image.appendURI(b), `"}`...)
	}
	b = append(append(append(rawjson.Next(b), `{"text":`...), p.prompt...), `}]}]},"parameters":{`...)
	if !p.hasN { // the service's default is 4 for some models
		b = append(b, `"n":1`...)
	}
	b = p.parameters.AppendTo(b)
	r.Body = append(b, "}}"...)
	return r, nil
}

// OnlyAddresses is the refusal of a request for the pictures themselves if the gateway fetches none.
func OnlyAddresses() *conversation.Refusal {
	return conversation.BadRequest("response_format",
		"response_format: b64_json is not supported here, because the gateway fetches no pictures; the answer can have their addresses.")
}
