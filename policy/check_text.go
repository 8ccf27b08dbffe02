package policy

import "sluice/policy/strictjson"

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

func knownStops(kinds uint) bool { return kinds&stopUnknown == 0 }

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

// never objects to every request that meets the row's condition and has the member.
func never(f field, allowed string) check {
	return check{allowed: allowed, field: f, find: func(q *Request) offence {
		return offends(q.facts.values[f].given())
	}}
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

// present demands that the member is there.
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
