package policy

import (
	"sluice/policy/picture"
	"sluice/policy/strictjson"
)

// item reads one item of a message's content.
func (r *reader) item() error {
	if s := r.Shape(); s != strictjson.Object {
		r.facts.mark(markItem, value{shape: s})
		return r.Skip()
	}
	i := itemReader{reader: r}
	if err := r.Object(placeItem, i.member); err != nil {
		return err
	}
	if !i.text && !i.image {
		if !i.media {
			r.facts.mark(markItemKind, value{shape: strictjson.Object})
		}
		r.facts.mark(markItemMedia, value{shape: strictjson.Object})
	}
	return nil
}

// itemReader reads one content item.
type itemReader struct {
	*reader
	text, image, media bool // which of its members were there
}

func (i *itemReader) member(f field) error {
	switch f {
	case fieldText:
		return i.readText()
	case fieldImage:
		return i.readImage()
	}
	i.media = i.media || i.Shape() != strictjson.Null
	return i.readMedia()
}

func (i *itemReader) readText() error {
	v, err := i.prompt()
	if v.shape == strictjson.Null {
		return err
	}
	i.text = true
	i.facts.textItems++
	if v.shape != strictjson.String {
		i.facts.mark(markText, v)
	}
	return err
}

func (i *itemReader) readImage() error {
	s := i.Shape()
	if s == strictjson.Null {
		return i.Skip()
	}
	i.image = true
	i.req.InputImages++
	if s != strictjson.String {
		i.facts.mark(markImage, value{shape: s})
		return i.Skip()
	}
	known := picture.Base64Ahead(i.Rest()[1:])
	t, err := i.StringAfter(known)
	if err == nil {
		i.facts.image(i.Raw(t), t.Escaped, known)
	}
	return err
}

// readMedia reads a video, one address or a list of frames, or an audio.
func (i *itemReader) readMedia() error {
	switch i.Shape() {
	case strictjson.String:
		t, err := i.String()
		if err == nil {
			i.facts.media(i.Raw(t), t.Escaped)
		}
		return err
	case strictjson.Array:
		return i.Array(func() error {
			if i.Shape() == strictjson.String {
				return i.readMedia()
			}
			return i.Skip()
		})
	}
	return i.Skip()
}
