package openai

// call is a call of a tool. Texts are raw: JSON between its quotes, with the escapes. nil means absent.
type call struct {
	index     int  // without a number: the position in the array
	numbered  bool // the service says which call it is
	alone     bool // the array has no other call
	id, name  []byte
	arguments []byte
}

func readCall(value []byte, position int) call {
	c := call{index: position}
	for w := walkObject(value); w.member(); {
		switch string(w.name) {
		case "index":
			if n := indexOf(w.value, -1); n >= 0 {
				c.index, c.numbered = n, true
			}
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

// argumentText returns the arguments of a call: JSON inside a string. Bare JSON is put into a string.
func argumentText(value []byte) []byte {
	switch {
	case isString(value):
		return inside(value)
	case absent(value):
		return nil
	}
	return inside(quoted(nil, value))
}

// appendTo appends the whole call.
func (c *call) appendTo(dst []byte) []byte {
	dst = append(append(dst, `{"id":"`...), c.id...)
	dst = append(append(dst, `","type":"function","function":{"name":"`...), c.name...)
	dst = append(append(dst, `","arguments":"`...), c.arguments...)
	return append(dst, `"}}`...)
}
