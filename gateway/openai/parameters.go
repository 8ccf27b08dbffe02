package openai

// parameters are the members that the service gets as its parameters, in the client's order and spelling.
type parameters struct {
	list []parameter
	room [24]parameter
}

type parameter struct {
	name  string
	value []byte
}

func (p *parameters) add(name string, value []byte) {
	if p.list == nil {
		p.list = p.room[:0]
	}
	p.list = append(p.list, parameter{name, value})
}

// appendTo appends them to an object.
func (p *parameters) appendTo(dst []byte) []byte {
	for _, member := range p.list {
		dst = append(named(dst, member.name), member.value...)
	}
	return dst
}

// named appends the name of an object's next member.
func named(dst []byte, name string) []byte {
	return append(quoted(next(dst), name), ':')
}

// next appends the comma before an object's next member or an array's next element, unless that is the first.
func next(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}
