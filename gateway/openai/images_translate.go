package openai

import "encoding/base64"

// translate writes the service's request. size is the length of the client's request without images.
func (p *imageRequest) translate(size int, models *Models) (*Request, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	r := &Request{Path: ImagePath, Model: string(decoded(p.model)), Base64: p.base64, Async: true}
	model := models.resolve(r.Model)
	if len(p.images) == 0 && models.isSync(model) {
		r.Path, r.Async = MultimodalPath, false
	}
	for _, image := range p.images { // the buffer is large enough, so that images are copied only once
		size += base64.StdEncoding.EncodedLen(len(image.Data)) + 64
	}
	size += len(model) + 256
	if err := models.room(size); err != nil {
		return nil, err
	}
	b := make([]byte, 0, size)
	b = append(quoted(append(b, `{"model":`...), model), `,"input":{"messages":[{"role":"user","content":[`...)
	for _, image := range p.images {
		b = append(next(b), `{"image":"`...)
		b = append(image.appendURI(b), `"}`...)
	}
	b = append(append(append(next(b), `{"text":`...), p.prompt...), `}]}]},"parameters":{`...)
	if !p.hasN { // the service's default is 4 for some models
		b = append(b, `"n":1`...)
	}
	b = p.parameters.appendTo(b)
	r.Body = append(b, "}}"...)
	return r, nil
}

func (p *imageRequest) check() error {
	switch {
	case !isString(p.model) || len(p.model) == 2:
		return badRequest("model", "model: the name of a model is needed.")
	case !isString(p.prompt) || len(p.prompt) == 2:
		return badRequest("prompt", "prompt: a text is needed.")
	}
	return nil
}
