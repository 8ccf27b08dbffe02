package responses

import (
	"strconv"
	"strings"

	"sluice/gateway/rawjson"
)

// mostName is how many characters the service's name of a tool may have.
const mostName = 64

// nameAll gives each tool its name at the service: its own, by which its call comes back. In a namespace, a name that another tool has gets
// the namespace as a prefix, and also a number if that is another's, too.
func (t *tools) nameAll() {
	taken := make(map[string]int, len(t.list)) // with the last number that a name was given
	for i := range t.list {
		if it := &t.list[i]; it.namespace == nil {
			it.native.Name = it.name
			taken[string(rawjson.Decoded(it.name))] = 1
		}
	}
	for i := range t.list {
		if it := &t.list[i]; it.namespace != nil {
			it.native.Name = it.freeName(taken)
		}
	}
}

// freeName takes a name for a tool in a namespace.
func (it *tool) freeName(taken map[string]int) []byte {
	name := string(rawjson.Decoded(it.name))
	if taken[name] == 0 {
		taken[name] = 1
		return it.name
	}
	prefixed := cut(strings.Map(allowed, string(rawjson.Decoded(it.namespace))+"__"+name), "")
	free := prefixed
	for taken[free] > 0 {
		taken[prefixed]++
		free = cut(prefixed, "_"+strconv.Itoa(taken[prefixed]))
	}
	taken[free] = 1
	return rawjson.Quote(nil, free)
}

// cut adds an end to a name, and cuts as much from its beginning as is too long: the namespace, which says less than the tool's own name.
func cut(name, end string) string {
	return name[max(0, len(name)+len(end)-mostName):] + end
}

// allowed is the character, if the service allows it in a name of a tool, and else an underscore.
func allowed(r rune) rune {
	if r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
		return r
	}
	return '_'
}
