package api

import (
	"cmp"
	"encoding/base64"
	"strconv"

	"sluice/policy/teams"
)

// A page has 100 elements if the client does not say, and 1,000 at most.
const (
	usualPage = 100
	mostPage  = 1000
)

// List is a page of a list. Next is the cursor of the next page; nil: this is the last.
type List[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next"`
}

// list is a page; next is the cursor's text, empty for none.
func list[T any](data []T, next string) List[T] {
	l := List[T]{Data: data}
	if data == nil {
		l.Data = []T{}
	}
	if next != "" {
		text := base64.RawURLEncoding.EncodeToString([]byte(next))
		l.Next = &text
	}
	return l
}

var errCursor = &teams.Problem{
	Code: teams.CodeInvalid, Field: "cursor", Text: "not a cursor", Allowed: "next of the page before", Advice: "begin without a cursor",
}

// page is what the query asks for: the text of its cursor, empty for none, and how many elements.
func (c *call) page() (cursor string, most int, err error) {
	text, err := base64.RawURLEncoding.DecodeString(c.query.Get("cursor"))
	if err != nil {
		return "", 0, errCursor
	}
	most, err = c.number("limit", 1, mostPage)
	return string(text), cmp.Or(most, usualPage), err
}

// number is a whole number of the query; 0: it is not given.
func (c *call) number(name string, low, high int) (int, error) {
	text := c.query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, invalid(name, "not such a number", "a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
	}
	return n, nil
}
