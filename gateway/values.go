package gateway

// values makes the values of an answer's header, several with one allocation. net/http and whoever wraps the answer may keep them
// for longer than the request lasts, so they are not used again.
type values struct{ free []string }

// one returns a value as a header has it.
func (v *values) one(value string) []string {
	if len(v.free) == 0 {
		v.free = make([]string, 8) // as many as the answer to a team with limits has
	}
	list := v.free[:1:1]
	list[0], v.free = value, v.free[1:]
	return list
}
