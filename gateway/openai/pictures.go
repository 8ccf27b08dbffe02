package openai

import "strconv"

// Append appends the answer to a request for images: {"created","data":[…],"usage"?}. created is in seconds of Unix time. With
// encoded, which MUST have the base64 text of each picture of URLs, data has the pictures; without, it has their addresses.
func (p *Pictures) Append(dst []byte, created int64, encoded [][]byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"created":`...), created, 10)
	dst = p.appendData(append(dst, `,"data":`...), encoded)
	dst = p.appendUsage(dst)
	return append(dst, '}')
}

// AppendTask appends the answer of GET /v1/images/tasks/{id}: {"id","status","created","data":[…],"error"}.
func (p *Pictures) AppendTask(dst []byte, created int64) []byte {
	dst = quoted(append(dst, `{"id":`...), p.Task)
	dst = quoted(append(dst, `,"status":`...), string(p.State))
	dst = strconv.AppendInt(append(dst, `,"created":`...), created, 10)
	dst = p.appendData(append(dst, `,"data":`...), nil)
	dst = append(dst, `,"error":`...)
	refusal := p.Refusal()
	if refusal == nil {
		return append(dst, "null}"...)
	}
	return append(refusal.append(dst), '}')
}

func (p *Pictures) appendData(dst []byte, encoded [][]byte) []byte {
	dst = append(dst, '[')
	for i, url := range p.URLs {
		if encoded == nil {
			dst = quoted(append(next(dst), `{"url":`...), url)
		} else {
			dst = append(append(append(next(dst), `{"b64_json":"`...), encoded[i]...), '"')
		}
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
