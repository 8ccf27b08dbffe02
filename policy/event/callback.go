package event

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// mostCallback is the most bytes of a callback.
const mostCallback = 512

var errCallback = errors.New("the id of a hook, and below it a path and a query of at most 512 visible ASCII characters in all, " +
	`without a host, "." or ".." as a part, also escaped or before ";", "?" or "#", "\" or "#"; in the path no escaped "/", "\",` +
	` "%" or control character`)

// ReadCallback reads the values of a request's header with its callback, such as "jobs/shots/42?x=1": the hook jobs of
// its team, and a path below the hook's URL. It returns the text, which is valid for as long as the team has the hook;
// empty: the request has none. An error says what is allowed.
func ReadCallback(values []string, hooks []Hook) (string, error) {
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", errors.New("the header once")
	}
	id, path := cutCallback(values[0])
	if !slices.ContainsFunc(hooks, func(h Hook) bool { return h.ID == id }) {
		return "", fmt.Errorf("the id of a hook of the team, and what stands below its url: %s", idsOf(hooks))
	}
	if !isBelow(path) || len(values[0]) > mostCallback {
		return "", errCallback
	}
	return values[0], nil
}

// Calling appends the target of a callback of an owner's request, unless its hook no longer exists. A callback without
// a path to a hook that is already a target adds no second target.
func Calling(to []Target, owner string, hooks []Hook, callback string) []Target {
	id, path := cutCallback(callback)
	t := Target{Address{owner, id}, path}
	if slices.Contains(to, t) || !slices.ContainsFunc(hooks, func(h Hook) bool { return h.ID == id }) {
		return to
	}
	return append(to, t)
}

// cutCallback cuts a callback into the hook's id, and the path and query below.
func cutCallback(text string) (id, path string) {
	at := strings.IndexAny(text, "/?")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimPrefix(text[at:], "/")
}

// isBelow reports whether a path and its query stay below the address that they are appended to.
func isBelow(text string) bool {
	path, query, _ := strings.Cut(text, "?")
	foreign := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' || r == '#' }
	if strings.ContainsFunc(path+query, foreign) || strings.HasPrefix(path, "/") || !escaped(query) {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if !isPart(part) {
			return false
		}
	}
	return true
}

// isPart reports whether a part of a path means the same name to every receiver: even to one that decodes it twice,
// cuts it at ";" before it looks for dots, or accepts overlong UTF-8.
func isPart(escaped string) bool {
	part, err := url.PathUnescape(escaped)
	foreign := func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' || r == '%' }
	name := part
	if end := strings.IndexAny(part, ";?#"); end >= 0 {
		name = part[:end]
	}
	return err == nil && utf8.ValidString(part) && !strings.ContainsFunc(part, foreign) && name != "." && name != ".."
}

// escaped reports whether each % begins an escape.
func escaped(text string) bool {
	for rest := text; ; {
		i := strings.IndexByte(rest, '%')
		if i < 0 {
			return true
		}
		if rest = rest[i+1:]; len(rest) < 2 || strings.Trim(rest[:2], "0123456789abcdefABCDEF") != "" {
			return false
		}
	}
}

func idsOf(hooks []Hook) string {
	if len(hooks) == 0 {
		return "it has none"
	}
	ids := make([]string, len(hooks))
	for i := range hooks {
		ids[i] = hooks[i].ID
	}
	return strings.Join(ids, ", ")
}
