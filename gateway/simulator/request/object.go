package request

import "math"

// Object is a JSON object of a request. Its accessors read a member of the wrong kind as absent: whether it may have
// that kind is the rules' question. A nil object is empty.
type Object map[string]any

func (o Object) Child(name string) Object {
	return AsObject(o[name])
}

func AsObject(v any) Object {
	m, _ := v.(map[string]any)
	return m
}

func (o Object) Text(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o Object) List(name string) []any {
	l, _ := o[name].([]any)
	return l
}

func (o Object) Flag(name string) bool {
	b, _ := o[name].(bool)
	return b
}

// FlagOr is flag with a default for an absent member.
func (o Object) FlagOr(name string, absent bool) bool {
	if b, ok := o[name].(bool); ok {
		return b
	}
	return absent
}

// Integer is the member's value, or absent if there is none.
func (o Object) Integer(name string, absent int) int {
	if f, ok := o[name].(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int(f)
	}
	return absent
}
