package openai

import (
	"bytes"
	"cmp"
	"strconv"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Pictures is an answer of the service about images: the creation of a task, the state of a task, or a synchronous generation,
// which has no task.
type Pictures struct {
	Task    string // id; empty: no task
	State   State
	URLs    []string // addresses of the pictures
	Code    string   // why pictures are missing; empty: none are missing
	Message string   // the same in words

	prompts []string // for each address, the prompt as the service rewrote it; may be empty
	usage   []byte   // the service's, raw
}

// State is the state of a task.
type State string

// The states, in OpenAI's words.
const (
	Queued     State = "queued"
	InProgress State = "in_progress"
	Completed  State = "completed"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
)

// Final reports whether the task has ended.
func (s State) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// stateOf translates the service's word. An unknown word counts as running, so that clients keep waiting.
func stateOf(word string) State {
	switch word {
	case "PENDING", "SUSPENDED":
		return Queued
	case "SUCCEEDED":
		return Completed
	case "FAILED", "UNKNOWN":
		return Failed
	case "CANCELED", "CANCELLED":
		return Cancelled
	}
	return InProgress
}

// ReadPictures reads an answer about images. If it is not a JSON object, the error is a [*conversation.Refusal]. cover covers what must not
// reach a client in the reason why pictures are missing; nil: no client gets it.
func ReadPictures(answer []byte, cover func(text string) string) (*Pictures, error) {
	native, ok := conversation.ReadObject(answer)
	if !ok {
		return nil, conversation.Unreadable()
	}
	p := new(Pictures)
	for r := rawjson.Object(native); r.Member(); {
		switch string(r.Name) {
		case "output":
			p.readOutput(&r)
		case "usage":
			p.usage = bytes.Clone(r.Value())
		case "code":
			p.Code = rawjson.Text(r.Value(), p.Code)
		case "message":
			p.Message = rawjson.Text(r.Value(), p.Message)
		}
	}
	switch {
	case p.State == "" && p.Task != "" && p.Code == "" && len(p.URLs) == 0: // a task without a state
		p.State = Queued
	case p.State == "":
		p.State = Completed
	}
	if p.State == Completed && len(p.URLs) == 0 {
		p.State = Failed
	}
	if cover != nil {
		p.Code, p.Message = cover(p.Code), cover(p.Message)
	}
	return p, nil
}

func (p *Pictures) readOutput(r *strictjson.Reader) {
	for r.Open('{'); r.Member(); {
		switch string(r.Name) {
		case "task_id":
			p.Task = rawjson.Text(r.Value(), "")
		case "task_status":
			p.State = stateOf(rawjson.Text(r.Value(), ""))
		case "code":
			p.Code = rawjson.Text(r.Value(), p.Code)
		case "message":
			p.Message = rawjson.Text(r.Value(), p.Message)
		case "choices":
			p.readChoices(r)
		case "results":
			for r.Open('['); r.Element(); {
				p.readResult(r.Value())
			}
		}
	}
}

// readChoices takes the images of choices[].message.content[].
func (p *Pictures) readChoices(r *strictjson.Reader) {
	for r.Open('['); r.Element(); {
		for items := rawjson.Array(rawjson.Find(rawjson.Find(r.Value(), "message"), "content")); items.Element(); {
			if url := rawjson.Text(rawjson.Find(items.Value(), "image"), ""); url != "" {
				p.add(url, "")
			}
		}
	}
}

// readResult takes one of output.results: a picture, or the reason that it failed.
func (p *Pictures) readResult(result []byte) {
	if url := rawjson.Text(rawjson.Find(result, "url"), ""); url != "" {
		p.add(url, rawjson.Text(rawjson.Find(result, "actual_prompt"), ""))
		return
	}
	if p.Code == "" {
		p.Code, p.Message = rawjson.Text(rawjson.Find(result, "code"), ""), rawjson.Text(rawjson.Find(result, "message"), "")
	}
}

func (p *Pictures) add(url, prompt string) {
	p.URLs, p.prompts = append(p.URLs, url), append(p.prompts, prompt)
}

// Refusal is the error for a task that ended without pictures; nil if it has some or has not ended.
func (p *Pictures) Refusal() *conversation.Refusal {
	switch {
	case p.State == Cancelled:
		return &conversation.Refusal{Status: 500, Code: "Canceled", Message: "The task was cancelled."}
	case p.State != Failed:
		return nil
	}
	return &conversation.Refusal{
		Status: conversation.StatusOf(p.Code), Code: cmp.Or(p.Code, conversation.CodeAnswer), Message: cmp.Or(p.Message, "No picture was made."),
	}
}

// Append appends the answer to a request for images: {"created","data":[…],"usage"?}, with the addresses of the pictures. created
// is in seconds of Unix time.
func (p *Pictures) Append(dst []byte, created int64) []byte { return p.append(dst, created, p.URLs) }

// Frames returns the text around the pictures themselves in the same answer: the base64 text of picture i of URLs belongs between
// frames i and i+1. URLs MUST NOT be empty.
func (p *Pictures) Frames(created int64) [][]byte {
	return bytes.SplitAfter(p.append(nil, created, nil), []byte(encodedMember))
}

// append appends the answer, with the addresses, or with room for the pictures themselves.
func (p *Pictures) append(dst []byte, created int64, urls []string) []byte {
	dst = strconv.AppendInt(append(dst, `{"created":`...), created, 10)
	dst = p.appendData(append(dst, `,"data":`...), urls)
	if u := conversation.ReadUsage(p.usage); u.Known() {
		dst = u.AppendTo(append(dst, `,"usage":`...), "input_tokens", "output_tokens", false)
	}
	return append(dst, '}')
}

// AppendTask appends the answer of GET /v1/images/tasks/{id}: {"id","status","created","data":[…],"error"}.
func (p *Pictures) AppendTask(dst []byte, created int64) []byte {
	dst = rawjson.Quote(append(dst, `{"id":`...), p.Task)
	dst = rawjson.Quote(append(dst, `,"status":`...), string(p.State))
	dst = strconv.AppendInt(append(dst, `,"created":`...), created, 10)
	dst = p.appendData(append(dst, `,"data":`...), p.URLs)
	dst = append(dst, `,"error":`...)
	refusal := p.Refusal()
	if refusal == nil {
		return append(dst, "null}"...)
	}
	return append(appendRefusal(dst, refusal), '}')
}

// encodedMember comes before a picture itself. No JSON string contains it, because quotes in strings are escaped.
const encodedMember = `{"b64_json":"`

// appendData appends what is known of each picture, with its address, or without addresses with an empty place for the picture.
func (p *Pictures) appendData(dst []byte, urls []string) []byte {
	dst = append(dst, '[')
	for i := range p.URLs {
		if dst = rawjson.Next(dst); urls == nil {
			dst = append(dst, encodedMember+`"`...)
		} else {
			dst = rawjson.Quote(append(dst, `{"url":`...), urls[i])
		}
		if p.prompts[i] != "" {
			dst = rawjson.Quote(append(dst, `,"revised_prompt":`...), p.prompts[i])
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
