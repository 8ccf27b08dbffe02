package policy

import (
	"sluice/policy/picture"
	"sluice/policy/strictjson"
)

// item is what is known of the content item being read.
type item struct {
	text, image, media bool // which of its members were there
}

// item reads one item of a message's content.
func (r *reader) item() error {
	if s := r.Shape(); s != strictjson.Object {
		r.mark(markItem, value{shape: s})
		return r.Skip()
	}
	r.part = item{}
	if err := r.Object(placeItem, r.itemMember); err != nil {
		return err
	}
	if !r.part.text && !r.part.image {
		if !r.part.media {
			r.mark(markItemKind, value{shape: strictjson.Object})
		}
		r.mark(markItemMedia, value{shape: strictjson.Object})
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
	r.part.media = r.part.media || r.Shape() != strictjson.Null
	return r.itemMedia()
}

func (r *reader) itemText() error {
	v, err := r.promptText()
	if v.shape == strictjson.Null {
		return err
	}
	r.part.text = true
	r.req.facts.textItems++
	if v.shape != strictjson.String {
		r.mark(markText, v)
	}
	return err
}

func (r *reader) itemImage() error {
	s := r.Shape()
	if s == strictjson.Null {
		return r.Skip()
	}
	r.part.image = true
	r.req.InputImages++
	if s != strictjson.String {
		r.mark(markImage, value{shape: s})
		return r.Skip()
	}
	known := picture.Base64Ahead(r.Rest()[1:])
	t, err := r.StringAfter(known)
	if err == nil {
		r.image(r.Raw(t), t.Escaped, known)
	}
	return err
}

// itemMedia reads a video, one address or a list of frames, or an audio.
func (r *reader) itemMedia() error {
	switch r.Shape() {
	case strictjson.String:
		t, err := r.String()
		if err == nil {
			r.media(r.Raw(t), t.Escaped)
		}
		return err
	case strictjson.Array:
		return r.Array(func() error {
			if r.Shape() == strictjson.String {
				return r.itemMedia()
			}
			return r.Skip()
		})
	}
	return r.Skip()
}
