package openai

// call is one call of a tool. Texts are as they are written between their quotes; nil: absent.
type call struct {
	index     int
	id, name  []byte
	arguments []byte
}

func readCall(value []byte, position int) call {
	c := call{index: position}
	for w := walkObject(value); w.member(); {
		switch string(w.name) {
		case "index":
			c.index = small(w.value, position)
		case "id":
			c.id = stringText(w.value)
		case "function":
			c.name = stringText(find(w.value, "name"))
			c.arguments = argumentText(find(w.value, "arguments"))
		}
	}
	return c
}

func stringText(value []byte) []byte {
	if !isString(value) {
		return nil
	}
	return inside(value)
}

// argumentText is the text of arguments: JSON in a string. Where a model gives the JSON itself, it is put in one.
func argumentText(value []byte) []byte {
	switch {
	case isString(value):
		return inside(value)
	case absent(value):
		return nil
	}
	return inside(quoted(nil, value))
}

// appendTo appends a whole call.
func (c *call) appendTo(dst []byte) []byte {
	dst = append(append(dst, `{"id":"`...), c.id...)
	dst = append(append(dst, `","type":"function","function":{"name":"`...), c.name...)
	dst = append(append(dst, `","arguments":"`...), c.arguments...)
	return append(dst, `"}}`...)
}
