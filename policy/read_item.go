package policy

// item is what is known of the content item being read.
type item struct {
	text, image, media bool // which of its members were there
}

// item reads one item of a message's content.
func (r *reader) item() error {
	if s := r.shape(); s != shapeObject {
		r.mark(markItem, value{shape: s})
		return r.skip()
	}
	r.part = item{}
	if err := r.object(placeItem, (*reader).itemMember); err != nil {
		return err
	}
	if !r.part.text && !r.part.image {
		if !r.part.media {
			r.mark(markItemKind, value{shape: shapeObject})
		}
		r.mark(markItemMedia, value{shape: shapeObject})
	}
	return nil
}

func (r *reader) itemMember(f field) error {
	switch f {
	case fieldText:
		return r.itemText()
	case fieldImage:
		return r.itemImage()
	}
	r.part.media = r.part.media || r.shape() != shapeNull
	return r.itemMedia()
}

func (r *reader) itemText() error {
	v, err := r.promptText()
	if v.shape == shapeNull {
		return err
	}
	r.part.text = true
	r.req.facts.textItems++
	if v.shape != shapeString {
		r.mark(markText, v)
	}
	return err
}

func (r *reader) itemImage() error {
	s := r.shape()
	if s == shapeNull {
		return r.skip()
	}
	r.part.image = true
	r.req.InputImages++
	if s != shapeString {
		r.mark(markImage, value{shape: s})
		return r.skip()
	}
	start := r.pos + 1
	end := base64Ahead(r.src[r.pos:])
	known := max(r.pos+end, start)
	t, err := r.stringFrom(known)
	if err == nil {
		r.image(r.src[t.start:t.end], t.escaped, known-start)
	}
	return err
}

// itemMedia reads a video, one address or a list of frames, or an audio.
func (r *reader) itemMedia() error {
	switch r.shape() {
	case shapeString:
		t, err := r.string()
		if err == nil {
			r.media(r.src[t.start:t.end], t.escaped)
		}
		return err
	case shapeArray:
		return r.array(func(r *reader) error {
			if r.shape() == shapeString {
				return r.itemMedia()
			}
			return r.skip()
		})
	}
	return r.skip()
}
