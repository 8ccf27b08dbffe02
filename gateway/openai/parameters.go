package openai

// parameters are the members that become parameters of the service, in the client's order, with raw values.
type parameters []parameter

type parameter struct {
	name  []byte
	value []byte
}

func (p *parameters) add(name, value []byte) {
	*p = append(*p, parameter{name, value})
}

// appendTo appends them to an object.
func (p parameters) appendTo(dst []byte) []byte {
	for _, member := range p {
		dst = append(named(dst, member.name), member.value...)
	}
	return dst
}

// named appends the name of an object's next member.
func named[T ~string | ~[]byte](dst []byte, name T) []byte {
	return append(quoted(next(dst), name), ':')
}

// next appends the comma before an object's next member or an array's next element, unless that is the first.
func next(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}
