package telemetry

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

const (
	// maxContent bounds each of the three content attributes, in bytes, so that a span stays below 16 KiB.
	maxContent = 4 << 10
	// keptAnswer bounds the bytes of an answer that are kept until its end. A request longer than longestCaptured is not captured:
	// it contains pictures.
	keptAnswer      = 64 << 10
	longestCaptured = 1 << 20
)

// content captures the answer, if the operator has switched that on.
type content struct {
	on     bool
	answer []byte
}

func (c *content) keep(p []byte) {
	c.answer = append(c.answer, p[:min(len(p), keptAnswer-len(c.answer))]...)
}

// message is a message in the form of the GenAI conventions.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

// part is a text, or the address of a picture.
type part struct {
	Type    string `json:"type"` // text, uri, blob
	Content string `json:"content,omitempty"`
	URI     string `json:"uri,omitempty"`
}

func writeContent(s *attributes, c *content, info *SpanInfo) {
	if p := info.Parameters; p != nil && len(p.Body) <= longestCaptured {
		instructions, messages := readInput(p.Body)
		writeMessages(s, genInstructions, instructions)
		writeMessages(s, genInputMessages, messages)
	}
	answered := readAnswered(c.answer)
	for i := range answered { // not earlier: in the raw bytes a secret may be escaped or split
		answered[i].cover(info.Secrets)
	}
	writeMessages(s, genOutputMessages, answered)
}

func (m *message) cover(secrets Secrets) {
	m.Role, m.Finish = covered(m.Role, secrets), covered(m.Finish, secrets)
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Content, p.URI = covered(p.Content, secrets), covered(p.URI, secrets)
	}
}

func writeMessages(s *attributes, key attribute.Key, messages []message) {
	if len(messages) == 0 {
		return
	}
	var of any = messages
	if key == genInstructions {
		of = messages[0].Parts
	}
	for budget := maxContent; budget >= 16; budget /= 2 {
		for i := range messages {
			messages[i].cut(budget)
		}
		if text, err := json.Marshal(of); err == nil && len(text) <= maxContent {
			s.whole(key, string(text))
			return
		}
	}
}

func (m *message) cut(budget int) {
	for i := range m.Parts {
		part := &m.Parts[i]
		part.Content, part.URI = shortenTo(part.Content, budget), shortenTo(part.URI, budget)
	}
}

// wireMessage is a message in the service's form. Its content is a text, or a list of texts and pictures.
type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func (w wireMessage) parts() []part {
	var text string
	if json.Unmarshal(w.Content, &text) == nil {
		return []part{{Type: "text", Content: text}}
	}
	var items []struct{ Text, Image string }
	_ = json.Unmarshal(w.Content, &items) // any other content has no parts
	var parts []part
	for _, item := range items {
		switch {
		case len(item.Image) >= len("data:") && strings.EqualFold(item.Image[:len("data:")], "data:"):
			parts = append(parts, part{Type: "blob"}) // not its bytes
		case item.Image != "":
			parts = append(parts, part{Type: "uri", URI: item.Image})
		default:
			parts = append(parts, part{Type: "text", Content: item.Text})
		}
	}
	return parts
}

// readInput reads a request's body: the system's instructions and the other messages.
func readInput(body []byte) (instructions, messages []message) {
	var wire struct {
		Input struct {
			Prompt   string        `json:"prompt"`
			Messages []wireMessage `json:"messages"`
		} `json:"input"`
	}
	_ = json.Unmarshal(body, &wire) // the rules checked it; a prompt of another type is ignored
	if wire.Input.Prompt != "" {
		messages = append(messages, message{Role: "user", Parts: []part{{Type: "text", Content: wire.Input.Prompt}}})
	}
	for _, w := range wire.Input.Messages {
		m := message{Role: w.Role, Parts: w.parts()}
		if w.Role == "system" && instructions == nil {
			instructions = append(instructions, m)
		} else {
			messages = append(messages, m)
		}
	}
	return instructions, messages
}

// readAnswered reads an answer: one document, or a stream of documents.
func readAnswered(answer []byte) []message {
	var all []message
	if !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")) {
		for line := range bytes.Lines(answer) {
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				all = appendAnswer(all, data)
			}
		}
		return all
	}
	return appendAnswer(all, answer)
}

// appendAnswer adds a document's messages. In a stream they hold the whole text so far, or only the new part.
func appendAnswer(all []message, document []byte) []message {
	var wire struct {
		Output struct {
			Text    string `json:"text"`
			Reason  string `json:"finish_reason"`
			Choices []struct {
				Message wireMessage `json:"message"`
				Reason  string      `json:"finish_reason"`
			} `json:"choices"`
		} `json:"output"`
	}
	if json.Unmarshal(document, &wire) != nil {
		return all
	}
	extend := func(i int, parts []part, reason string) {
		for len(all) <= i {
			all = append(all, message{Role: "assistant"})
		}
		all[i].extend(parts)
		if reason != "" && reason != "null" {
			all[i].Finish = reason
		}
	}
	if wire.Output.Text != "" {
		extend(0, []part{{Type: "text", Content: wire.Output.Text}}, wire.Output.Reason)
	}
	for i, choice := range wire.Output.Choices {
		extend(i, choice.Message.parts(), choice.Reason)
	}
	return all
}

func (m *message) extend(parts []part) {
	for _, p := range parts {
		last := len(m.Parts) - 1
		switch {
		case p.Type == "text" && last >= 0 && m.Parts[last].Type == "text":
			if strings.HasPrefix(p.Content, m.Parts[last].Content) {
				m.Parts[last] = p
			} else {
				m.Parts[last].Content += p.Content
			}
		case p.Type == "text" && p.Content == "", slices.Contains(m.Parts, p):
		default:
			m.Parts = append(m.Parts, p)
		}
	}
}
