package openai

import "strconv"

// Append appends the answer to a request for images: {"created","data":[…],"usage"?}, with the addresses of the pictures. created
// is in seconds of Unix time.
func (p *Pictures) Append(dst []byte, created int64) []byte {
	dst = strconv.AppendInt(append(dst, `{"created":`...), created, 10)
	dst = p.appendData(append(dst, `,"data":`...))
	dst = p.appendUsage(dst)
	return append(dst, '}')
}

// Frames returns what stands around the pictures themselves in the same answer: the base64 text of picture i of URLs comes between
// frames i and i+1. URLs MUST NOT be empty.
func (p *Pictures) Frames(created int64) [][]byte {
	frame := append(strconv.AppendInt([]byte(`{"created":`), created, 10), `,"data":[{"b64_json":"`...)
	var frames [][]byte
	for i := range p.URLs {
		frames = append(frames, frame)
		frame = []byte(`"`)
		if p.prompts[i] != "" {
			frame = quoted(append(frame, `,"revised_prompt":`...), p.prompts[i])
		}
		if i < len(p.URLs)-1 {
			frame = append(frame, `},{"b64_json":"`...)
		}
	}
	return append(frames, append(p.appendUsage(append(frame, "}]"...)), '}'))
}

// AppendTask appends the answer of GET /v1/images/tasks/{id}: {"id","status","created","data":[…],"error"}.
func (p *Pictures) AppendTask(dst []byte, created int64) []byte {
	dst = quoted(append(dst, `{"id":`...), p.Task)
	dst = quoted(append(dst, `,"status":`...), string(p.State))
	dst = strconv.AppendInt(append(dst, `,"created":`...), created, 10)
	dst = p.appendData(append(dst, `,"data":`...))
	dst = append(dst, `,"error":`...)
	refusal := p.Refusal()
	if refusal == nil {
		return append(dst, "null}"...)
	}
	return append(refusal.append(dst), '}')
}

func (p *Pictures) appendData(dst []byte) []byte {
	dst = append(dst, '[')
	for i, url := range p.URLs {
		dst = quoted(append(next(dst), `{"url":`...), url)
		if p.prompts[i] != "" {
			dst = quoted(append(dst, `,"revised_prompt":`...), p.prompts[i])
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendUsage appends the tokens, if the service counted any.
func (p *Pictures) appendUsage(dst []byte) []byte {
	u := readUsage(p.usage)
	if !u.known() {
		return dst
	}
	dst = append(append(dst, `,"usage":{"input_tokens":`...), u.input()...)
	dst = append(append(dst, `,"output_tokens":`...), u.output()...)
	dst = append(append(dst, `,"total_tokens":`...), u.total()...)
	return append(dst, '}')
}
