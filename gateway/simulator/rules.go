package simulator

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	"sluice/gateway/simulator/picture"
)

// The rules implement the interface's specification and share no code with the gateway's, so that each can test the other. rules_chat.go
// and rules_image.go have the rules of one kind of request.

// checkFrame checks what all requests to models have in common: whether a task is allowed, the model, and the form of the parameters.
func checkFrame(c *call, async bool) error {
	switch {
	case c.async && !async:
		return errNoAsync
	case !c.async && async:
		return errNeedAsync
	case c.model == "":
		return invalid("model is required and must be a string")
	case c.doc["parameters"] != nil && c.param == nil:
		return invalid("parameters must be an object")
	}
	return nil
}

// check returns what is wrong with a value, as a text that follows the parameter's name; "": nothing.
type check func(v any) string

// rule is one parameter's check. An absent or null parameter passes.
type rule struct {
	name  string
	check check
}

// checkAll applies rules to the parameters and returns the first violation.
func checkAll(parameters object, rules []rule) error {
	for _, r := range rules {
		v := parameters[r.name]
		if v == nil {
			continue
		}
		if fault := r.check(v); fault != "" {
			return invalid("parameters.%s %s", r.name, fault)
		}
	}
	return nil
}

// number checks that a number is in an interval, in mathematical notation: "[0, 2)" includes 0 but not 2.
func number(span string) check {
	var from, to float64
	if _, err := fmt.Sscanf(span[1:len(span)-1], "%g, %g", &from, &to); err != nil {
		panic("simulator: no range: " + span)
	}
	return func(v any) string {
		f, ok := v.(float64)
		switch {
		case !ok:
			return "must be a number"
		case f < from, f > to, span[0] == '(' && f == from, strings.HasSuffix(span, ")") && f == to:
			return "must be in " + span
		}
		return ""
	}
}

// integers checks that a whole number is in an interval.
func integers(span string) check {
	in := number(span)
	return func(v any) string {
		if f, ok := v.(float64); ok && f != math.Trunc(f) {
			return "must be an integer"
		}
		return in(v)
	}
}

// seed checks random seeds on every endpoint.
var seed = integers("[0, 2147483647]")

func boolean(v any) string {
	if _, ok := v.(bool); !ok {
		return "must be a boolean"
	}
	return ""
}

func str(v any) string {
	if _, ok := v.(string); !ok {
		return "must be a string"
	}
	return ""
}

// words allows only the strings listed.
func words(list ...string) check {
	return func(v any) string {
		if s, ok := v.(string); !ok || !slices.Contains(list, s) {
			return "must be one of " + strings.Join(list, ", ")
		}
		return ""
	}
}

// checkAddress checks the form of an image's address.
func checkAddress(address string) string {
	if strings.HasPrefix(address, "data:") {
		if _, err := picture.ReadData(address); err == picture.ErrURI {
			return err.Error()
		}
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "oss"}, u.Scheme) {
		return "must be a public HTTP or HTTPS URL or a Base64 data URI"
	}
	return ""
}
