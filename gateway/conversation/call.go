package conversation

import (
	"strconv"

	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// frameCall is a call of a tool as an answer or a frame has it.
type frameCall struct {
	Call
	index    int  // without a number: the position in the array
	numbered bool // the service numbers the call
	single   bool // the array has no other call
}

func readCall(value []byte, position int) frameCall {
	c := frameCall{index: position}
	for r := rawjson.Object(value); r.Member(); {
		switch string(r.Name) {
		case "index":
			if n := indexOf(r.Value(), -1); n >= 0 {
				c.index, c.numbered = n, true
			}
		case "id":
			c.ID = rawjson.Inside(r.Value())
		case "function":
			for r.Open('{'); r.Member(); {
				switch string(r.Name) {
				case "name":
					c.Name = rawjson.Inside(r.Value())
				case "arguments":
					c.Arguments = argumentText(r.Value())
				}
			}
		}
	}
	return c
}

// argumentText returns the arguments of a call: JSON inside a string. Bare JSON is put into a string.
func argumentText(value []byte) []byte {
	switch {
	case rawjson.IsString(value):
		return rawjson.Inside(value)
	case rawjson.Absent(value):
		return nil
	}
	return rawjson.Inside(rawjson.Quote(nil, value))
}

// Input is what the tool is called with, decoded; nil if the arguments are not JSON.
func (c *Call) Input() []byte {
	decoded := rawjson.Decoded(append(append([]byte{'"'}, c.Arguments...), '"'))
	r := strictjson.NewReader(decoded)
	if value := r.Value(); r.End() {
		return value
	}
	return nil
}

// indexOf returns the index that a choice or a call has. Without one it is its position in the array.
func indexOf(value []byte, position int) int {
	n, err := strconv.ParseUint(string(value), 10, 16)
	if err != nil {
		return position
	}
	return int(n)
}
