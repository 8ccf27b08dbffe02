package request

import "math"

// Object is a JSON object of a request. Its methods read a member of the wrong kind as absent: whether it may have that
// kind is for the rules to judge. A nil object is empty.
type Object map[string]any

// as returns v if it is a T, else the zero value.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

// AsObject returns v if it is an object, else nil.
func AsObject(v any) Object { return as[map[string]any](v) }

// Child is the object in a member, or nil.
func (o Object) Child(name string) Object { return AsObject(o[name]) }

// Text is the string in a member, or empty.
func (o Object) Text(name string) string { return as[string](o[name]) }

// List is the array in a member, or nil.
func (o Object) List(name string) []any { return as[[]any](o[name]) }

// Flag is the boolean in a member, or false.
func (o Object) Flag(name string) bool { return as[bool](o[name]) }

// FlagOr is the boolean in a member, or absent.
func (o Object) FlagOr(name string, absent bool) bool {
	if b, ok := o[name].(bool); ok {
		return b
	}
	return absent
}

// Integer is the whole number in a member, or absent.
func (o Object) Integer(name string, absent int) int {
	if f, ok := o[name].(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int(f)
	}
	return absent
}
