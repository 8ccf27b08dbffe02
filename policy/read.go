package policy

import "sluice/policy/strictjson"

// Read reads one body in one strict pass and says what it asks for. It keeps no tree of the body and copies no image.
// The error is a [*strictjson.Error]: the body is not one strict JSON document, so Sluice and upstream could read it
// differently. Whether the service's rules allow the request is [Judge]'s question.
func Read(f *Families, call Call, body []byte) (Request, error) {
	r := newReader(call, body)
	defer r.release()
	if err := r.Document(placeTop, r.topMember); err != nil {
		r.req.Release()
		return Request{}, err
	}
	r.finish(f)
	return r.req, nil
}

func (r *reader) topMember(f field) error {
	switch f {
	case fieldInput:
		return r.into(f, placeInput, r.inputMember)
	case fieldParameters:
		return r.into(f, placeParameters, parameterReader{r}.member)
	}
	model, err := r.identifier()
	r.facts.values[fieldModel] = model
	return err
}

func (r *reader) inputMember(f field) error {
	switch f {
	case fieldMessages:
		return r.messages()
	case fieldPrompt:
		v, err := r.prompt()
		r.facts.values[f] = v
		return err
	}
	return r.SkipCounting(&r.text) // history
}

// finish derives from the facts what the request asks for.
func (r *reader) finish(f *Families) {
	q := &r.req
	q.Model = r.facts.values[fieldModel].text
	r.facts.families = f.of(q.Model)
	q.Interleave = !r.facts.call.Older && r.facts.families.editImage && r.facts.values[fieldEnableInterleave].shape == strictjson.True
	q.Guessed = q.guessed()
	q.Kind = q.kind()
	q.TextLength = textLength(r.text, q.Messages)
	q.countAnswers()
	q.readParameters()
	q.Stream = headerOn(r.facts.call.SSE) || AcceptsStream(r.facts.call.Accept)
}
