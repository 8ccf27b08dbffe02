package meter

import "sluice/policy/strictjson"

// maxDepth is how deep a document is read; deeper values are stepped over. The deepest known place is at six.
const maxDepth = 12

// document takes the values at known places of one document, which comes in pieces, to the answer.
type document struct {
	scan   strictjson.Stream
	answer *answer
	place  place // of the value that comes next or is being read
	depth  int8
	levels [maxDepth]level

	pathLen uint8
	path    [maxPath]byte // of the usage number being read, below usage
}

// level is an open object or array.
type level struct {
	place  place
	prefix uint8 // in usage: length of the path that names the object
}

// restart begins another document.
func (d *document) restart() {
	d.scan.Restart()
	d.place, d.depth = placeRoot, 0
}

// read takes the next piece.
func (d *document) read(p []byte) {
	for d.scan.Feed(p); ; {
		switch d.scan.Next() {
		case strictjson.More, strictjson.Lost:
			return
		case strictjson.Opened:
			d.open()
		case strictjson.Closed:
			d.leave()
		case strictjson.Named:
			d.place = d.name()
			d.scan.Keep = d.place.kept()
		case strictjson.Part:
			d.measure()
		case strictjson.Ended:
			d.measure()
			d.takeString()
		case strictjson.Word:
			d.takeWord()
		}
	}
}

// open enters an object or array at a known place, and steps over any other.
func (d *document) open() {
	p := d.place.object()
	if d.scan.Array {
		d.answer.Odd = d.answer.Odd || d.place == placeUsage
		if p = d.place; elements[p] == nowhere {
			p = nowhere
		}
	}
	if p == nowhere || d.depth == maxDepth {
		d.scan.Skip()
		return
	}
	d.levels[d.depth] = level{place: p}
	d.depth++
	switch d.place = elements[p]; p {
	case placeChoice:
		d.answer.beginChoice()
	case placeToolCall:
		d.answer.Content = true
	case placeUsage:
		d.openUsage()
	}
}

// openUsage makes names in a nested object of the usage continue the path of that object.
func (d *document) openUsage() {
	top := d.depth - 1
	if d.levels[top-1].place != placeUsage {
		return
	}
	if d.pathLen < maxPath {
		d.path[d.pathLen] = '.'
		d.pathLen++
	}
	d.levels[top].prefix = d.pathLen
}

func (d *document) leave() {
	d.depth--
	if d.levels[d.depth].place == placeChoice {
		d.answer.endChoice()
	}
	if d.depth > 0 {
		d.place = elements[d.levels[d.depth-1].place]
	}
}

// name returns the place of the member whose name was read.
func (d *document) name() place {
	name, whole := d.scan.Token()
	top := &d.levels[d.depth-1]
	switch {
	case !whole:
		return nowhere
	case top.place != placeUsage:
		return top.place.into(name)
	case int(top.prefix)+len(name) > maxPath:
		return nowhere
	}
	d.pathLen = top.prefix + uint8(copy(d.path[top.prefix:], name))
	return placeNumber
}

// measure takes a part of a string, if its length matters.
func (d *document) measure() {
	if t := d.answer.text(d.place); t != nil {
		t.addBytes(d.scan.Part())
	} else if d.place == placeImage {
		raw, _ := d.scan.Part()
		d.answer.pictures.addBytes(raw)
	}
}

// takeString takes a whole string. One in the place of a number makes the answer odd.
func (d *document) takeString() {
	token, whole := d.scan.Token()
	switch d.place {
	case nowhere:
	case placeUsage:
		d.answer.Odd = true
	case placeNumber:
		d.answer.Odd = d.answer.Odd || whole && fieldAt(d.path[:d.pathLen]) < fieldCount
	default:
		d.answer.takeString(d.place, token, !whole)
	}
}

// takeWord takes a whole number or literal.
func (d *document) takeWord() {
	token, whole := d.scan.Token()
	switch d.place {
	case placeUsage:
		d.answer.Odd = d.answer.Odd || token[0] != 'n'
	case placeNumber:
		d.answer.takeNumber(d.path[:d.pathLen], token, !whole)
	default:
		d.answer.takeWord(d.place, token)
	}
}
