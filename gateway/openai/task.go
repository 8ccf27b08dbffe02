package openai

import "strings"

// Pictures is an answer of the service about images: the creation of a task, the state of a task, or a synchronous generation,
// which has no task.
type Pictures struct {
	Task    string // id; empty: no task
	State   State
	URLs    []string // addresses of the pictures
	Code    string   // why pictures are missing; empty: none is
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

// ReadPictures reads an answer about images. If it is not a JSON object, the error is a [*Refusal].
func ReadPictures(answer []byte) (*Pictures, error) {
	object, ok := readAnswer(answer)
	if !ok {
		return nil, unreadable()
	}
	p := new(Pictures)
	for w := walkObject(object); w.member(); {
		switch string(w.name) {
		case "output":
			p.readOutput(w.value)
		case "usage":
			p.usage = append([]byte(nil), w.value...)
		case "code":
			p.Code = text(w.value, p.Code)
		case "message":
			p.Message = text(w.value, p.Message)
		}
	}
	switch {
	case p.State == "" && p.Task != "" && p.Code == "" && len(p.URLs) == 0: // a task of which no state is told
		p.State = Queued
	case p.State == "":
		p.State = Completed
	}
	if p.State == Completed && len(p.URLs) == 0 {
		p.State = Failed
	}
	return p, nil
}

func (p *Pictures) readOutput(output []byte) {
	for w := walkObject(output); w.member(); {
		switch string(w.name) {
		case "task_id":
			p.Task = text(w.value, "")
		case "task_status":
			p.State = stateOf(text(w.value, ""))
		case "code":
			p.Code = text(w.value, p.Code)
		case "message":
			p.Message = text(w.value, p.Message)
		case "choices":
			p.readChoices(w.value)
		case "results":
			for list := walkArray(w.value); list.element(); {
				p.readResult(list.value)
			}
		}
	}
}

// readChoices takes the images of choices[].message.content[].
func (p *Pictures) readChoices(choices []byte) {
	for list := walkArray(choices); list.element(); {
		content := find(find(list.value, "message"), "content")
		for items := walkArray(content); items.element(); {
			if url := text(find(items.value, "image"), ""); url != "" {
				p.add(url, "")
			}
		}
	}
}

// readResult takes one of output.results: a picture, or the reason that it failed.
func (p *Pictures) readResult(result []byte) {
	if url := text(find(result, "url"), ""); url != "" {
		p.add(url, text(find(result, "actual_prompt"), ""))
		return
	}
	if p.Code == "" {
		p.Code, p.Message = text(find(result, "code"), ""), text(find(result, "message"), "")
	}
}

func (p *Pictures) add(url, prompt string) {
	p.URLs, p.prompts = append(p.URLs, url), append(p.prompts, prompt)
}

// Refusal is the error for a task that ended without pictures; nil if it has some or has not ended.
func (p *Pictures) Refusal() *Refusal {
	switch {
	case p.State == Cancelled:
		return &Refusal{Status: 500, Code: "Canceled", Message: "The task was cancelled."}
	case p.State != Failed:
		return nil
	}
	r := &Refusal{Status: 500, Code: p.Code, Message: p.Message}
	for _, word := range [...]string{"InvalidParameter", "BadRequest", "DataInspection"} {
		if strings.HasPrefix(p.Code, word) {
			r.Status = 400
		}
	}
	if r.Code == "" {
		r.Code = codeAnswer
	}
	if r.Message == "" {
		r.Message = "No picture was made."
	}
	return r
}
