package policy

import (
	"strconv"

	"sluice/policy/strictjson"
)

// without demands that no element of a list has the mark.
func without(m mark, allowed string) check {
	return check{allowed: allowed, mark: m, find: func(q *Request) offence { return q.facts.marks[m] }}
}

// bounded is like without, and also states the bound as a number.
func bounded(m mark, allowed, limit string) check {
	c := without(m, allowed)
	c.limit = limit
	return c
}

// modelName demands the name of a model.
func modelName() check {
	return check{allowed: "a string of 1 to 256 bytes", find: func(q *Request) offence {
		v := q.facts.values[fieldModel]
		if v.shape != strictjson.String || v.text == "" || len(v.text) > maxModel {
			return offends(v.given())
		}
		return offence{}
	}}
}

// conversation demands messages, or the prompt of the older form in their place.
func conversation() check {
	return check{allowed: "an array of at least one message", find: func(q *Request) offence {
		messages, prompt := q.facts.values[fieldMessages], q.facts.values[fieldPrompt]
		switch {
		case messages.shape == strictjson.Array && messages.count == 0:
			return offends("an empty array")
		case messages.shape == strictjson.Array, !messages.set() && prompt.set():
			return offence{}
		}
		return offends(messages.given())
	}}
}

// singleTurn demands exactly one message.
func singleTurn() check {
	return check{allowed: "exactly one message", limit: "1", find: func(q *Request) offence {
		switch v := q.facts.values[fieldMessages]; {
		case v.shape != strictjson.Array:
			return offends(v.given())
		case v.count != 1:
			return offends(strconv.Itoa(int(v.count)))
		}
		return offence{}
	}}
}

// listContent demands that a message's content is an array.
func listContent() check {
	return check{allowed: "an array of content items", find: func(q *Request) offence {
		if found := q.facts.marks[markContentText]; found.count > 0 {
			return found
		}
		return q.facts.marks[markContent]
	}}
}

// textItems demands from low to high text items, of a request with one message whose content is an array.
func textItems(low, high int, allowed string) check {
	return items(low, high, allowed, func(q *Request) int { return q.facts.textItems })
}

// imageItems demands from low to high images, under the same condition.
func imageItems(low, high int) check {
	return items(low, high, strconv.Itoa(low)+" to "+strconv.Itoa(high)+" images",
		func(q *Request) int { return q.InputImages })
}

func items(low, high int, allowed string, count func(*Request) int) check {
	return check{allowed: allowed, find: func(q *Request) offence {
		n := count(q)
		if q.Messages != 1 || q.facts.marks[markContentList].count == 0 || n >= low && n <= high {
			return offence{}
		}
		return offends(strconv.Itoa(n))
	}}
}

// length demands at most limit code points.
func length(limit int, points func(*Request) int) check {
	words := strconv.Itoa(limit)
	return check{allowed: "at most " + words + " characters", limit: words, find: func(q *Request) offence {
		if n := points(q); n > limit {
			return offends(strconv.Itoa(n))
		}
		return offence{}
	}}
}

// stopForm demands stop sequences of a known form.
func stopForm() check {
	return of(fieldStop, "a string, or an array of strings or of token ids", func(v value) bool {
		return v.shape == strictjson.String || v.shape == strictjson.Array
	})
}

// stopList demands that the function is true for the kinds of the elements of stop, if it is an array.
func stopList(allowed string, legal func(kinds uint) bool) check {
	return check{allowed: allowed, field: fieldStop, find: func(q *Request) offence {
		if kinds := q.facts.stopKinds; !legal(kinds) {
			return offends(stopGiven(kinds))
		}
		return offence{}
	}}
}

// unmixed reports whether all known elements are of one kind.
func unmixed(kinds uint) bool {
	known := kinds &^ stopUnknown
	return known&(known-1) == 0
}

// stopGiven names the kinds of elements.
func stopGiven(kinds uint) string {
	words := ""
	for i, word := range [...]string{"strings", "token ids", "lists of token ids", "other values"} {
		if kinds>>i&1 != 0 {
			if words != "" {
				words += " and "
			}
			words += word
		}
	}
	return words
}

// choice demands a tool choice of a known form.
func choice() check {
	return check{
		field:   fieldToolChoice,
		allowed: `"auto", "none" or {"type":"function","function":{"name":...}}`,
		find: func(q *Request) offence {
			v := q.facts.values[fieldToolChoice]
			if q.facts.forced || v.shape == strictjson.String && (v.text == "auto" || v.text == "none") {
				return offence{}
			}
			return offends(v.given())
		},
	}
}

// schema demands the schema of a response format of type json_schema.
func schema() check {
	return check{allowed: "an object", field: fieldResponseType, find: func(q *Request) offence {
		v := q.facts.values[fieldSchema]
		if v.shape == strictjson.Object || q.facts.values[fieldResponseType].text != "json_schema" {
			return offence{}
		}
		return offends(v.given())
	}}
}

// coupling demands that an interleaved request streams: by the SSE header or by Accept, and without a stream other than
// true in the body. Another rule judges an absent stream, which the service's own libraries leave out.
func coupling() check {
	return check{allowed: "the header X-Service-SSE: enable, and stream true beside it", find: func(q *Request) offence {
		switch v := q.facts.values[fieldStream]; {
		case v.set() && v.shape != strictjson.True:
			return offends("stream " + v.given())
		case !q.Stream:
			return offends(q.facts.call.inPlaceOf("SSE", "no such header"))
		}
		return offence{}
	}}
}

// present demands that the member is set.
func present(f field, allowed string) check {
	return check{allowed: allowed, find: func(q *Request) offence {
		if v := q.facts.values[f]; !v.set() {
			return offends(v.given())
		}
		return offence{}
	}}
}

// agreeing demands that stream in the body agrees with the header, which decides.
func agreeing() check {
	const allowed = "true beside the header X-Service-SSE: enable, false without it, else it has no effect"
	return check{allowed: allowed, field: fieldStream, find: func(q *Request) offence {
		switch v := q.facts.values[fieldStream]; {
		case v.shape == strictjson.False && q.Stream:
			return offends(v.given())
		case v.shape == strictjson.True && !q.Stream:
			if stray := q.facts.call.stray("SSE"); stray != "" {
				return offends("true beside " + stray)
			}
			return offends(v.given())
		}
		return offence{}
	}}
}
