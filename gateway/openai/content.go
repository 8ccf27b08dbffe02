package openai

import "fmt"

// appendContent appends a message's content: a string on the text path, an array of items on the multimodal path.
func appendContent(dst, content []byte, multimodal bool) ([]byte, error) {
	switch {
	case isString(content) && multimodal:
		return append(append(append(dst, `[{"text":`...), content...), "}]"...), nil
	case isString(content):
		return append(dst, content...), nil
	case kind(content) != '[':
		return nil, badRequest("content", "A message's content must be a string or an array of parts.")
	}
	open, end := `"`, `"`
	if multimodal {
		open, end = "[", "]"
	}
	dst = append(dst, open...)
	index := 0
	for list := walkArray(content); list.element(); index++ {
		var p part
		err := p.read(list.value)
		if err == nil && multimodal {
			dst, err = p.appendItem(dst)
		} else if err == nil {
			dst = append(dst, inside(p.text)...) // an image would have led to the other path
		}
		if err != nil {
			return nil, within(fmt.Sprintf("content[%d]", index), err)
		}
	}
	return append(dst, end...), nil
}

// part is one part of a message's content: a text or an image.
type part struct {
	text   []byte
	url    []byte
	others parameters // such as min_pixels, which the service reads next to an image
}

// read reads the members of a part.
func (p *part) read(value []byte) (err error) {
	if kind(value) != '{' {
		return badRequest("", "A part of a content must be an object.")
	}
	var word, text, image []byte
	seen := make(names, 0, fewNames)
	for w := walkObject(value); w.member(); {
		if seen, err = seen.add(w.name); err != nil {
			return err
		}
		switch string(w.name) {
		case "type":
			word = w.value
		case "text":
			text = w.value
		case "image_url":
			image = w.value
		default:
			if !absent(w.value) {
				p.others.add(w.name, w.value)
			}
		}
	}
	switch {
	case isWord(word, "text") && isString(text):
		p.text = text
		return nil
	case isWord(word, "text"):
		return badRequest("text", "A part of the type text must have a text.")
	case isWord(word, "image_url"):
		return p.readImage(image)
	case isString(word):
		return badRequest("type", "Parts of the type %q are not supported; text and image_url are.", brief(inside(word)))
	}
	return badRequest("type", "A part of a content must have a type.")
}

// readImage reads {url, detail}. The service has no counterpart of detail.
func (p *part) readImage(image []byte) error {
	for w := walkObject(image); w.member(); {
		if string(w.name) == "url" {
			p.url = w.value
		}
	}
	if !isString(p.url) {
		return badRequest("image_url", "image_url must be an object with a url.")
	}
	return nil
}

// appendItem appends the part as an item of the multimodal path.
func (p *part) appendItem(dst []byte) ([]byte, error) {
	dst = next(dst)
	if p.url != nil {
		dst = append(append(dst, `{"image":`...), p.url...)
	} else {
		dst = append(append(dst, `{"text":`...), p.text...)
	}
	for _, other := range p.others {
		switch name := string(other.name); name {
		case "image", "video", "audio":
			return nil, badRequest(name, "A part must not have a member %s.", name)
		}
	}
	return append(p.others.appendTo(dst), '}'), nil
}
