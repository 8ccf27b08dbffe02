package policy

import (
	"strconv"

	"sluice/policy/strictjson"
)

// seen demands that no element of a list has the mark.
func seen(m mark, allowed string) check {
	return check{allowed: allowed, mark: m, find: func(q *Request) offence { return q.facts.marks[m] }}
}

// bounded is seen with the bound as a number.
func bounded(m mark, allowed, limit string) check {
	c := seen(m, allowed)
	c.limit = limit
	return c
}

// required demands a model's name.
func required() check {
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

// imageItems demands from low to high images, of such a request.
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

// length demands at most so many code points.
func length(limit int, points func(*Request) int) check {
	words := strconv.Itoa(limit)
	return check{allowed: "at most " + words + " characters", limit: words, find: func(q *Request) offence {
		if n := points(q); n > limit {
			return offends(strconv.Itoa(n))
		}
		return offence{}
	}}
}
