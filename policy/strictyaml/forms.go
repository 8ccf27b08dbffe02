package strictyaml

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// Form is the form of a single value: what is allowed, and how it is parsed.
type Form[T any] struct {
	Allowed string
	Parse   func(text string) (T, bool)
	Bare    bool // without quotes: "20" is a text where a number is required
}

// Word is a text that passes a check.
func Word[T ~string](allowed string, check func(string) bool) Form[T] {
	return Form[T]{Allowed: allowed, Parse: func(text string) (T, bool) { return T(text), check(text) }}
}

// Spelled is a text that matches a pattern.
func Spelled(pattern, allowed string) Form[string] {
	return Word[string](allowed, regexp.MustCompile(pattern).MatchString)
}

// Choice is one of some words.
func Choice[T ~string](words ...T) Form[T] {
	return Word[T](AnyOf(words), func(text string) bool { return slices.Contains(words, T(text)) })
}

// Number is a number that YAML and JSON write alike.
var Number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// Whole is a whole number from low to high.
func Whole[T int | int64](low, high T) Form[T] {
	return Form[T]{fmt.Sprintf("a whole number from %d to %d", low, high), func(text string) (T, bool) {
		number, err := strconv.ParseInt(text, 10, 64)
		return T(number), wholeNumber.MatchString(text) && err == nil && number >= int64(low) && number <= int64(high)
	}, true}
}

// Flag is true or false.
var Flag = Form[bool]{"true or false", func(text string) (bool, bool) { return text == "true", text == "true" || text == "false" }, true}

// Read reads a single value of a form. If it is faulty the result is zero.
func Read[T any](n Node, f Form[T]) (value T, ok bool) {
	var zero T
	text, ok := n.Text()
	switch {
	case !ok:
		n.WrongKind(f.Allowed)
		return zero, false
	case f.Bare && isQuoted(n.ast):
		n.Refuse(text, f.Allowed+", without quotes")
		return zero, false
	}
	if value, ok = f.Parse(text); !ok {
		n.Refuse(text, f.Allowed)
		return zero, false
	}
	return value, true
}

// One returns a function that reads a single value of a form into a variable.
func One[T any](to *T, f Form[T]) func(Node) {
	return func(n Node) { *to, _ = Read(n, f) }
}

// Unique returns a function that reads a word that may occur only once in the file.
func Unique(to *string, what string, f Form[string]) func(Node) {
	return func(n Node) {
		var ok bool
		if *to, ok = Read(n, f); ok {
			n.Once(what, *to)
		}
	}
}

// IsNone reports whether the value is the word that removes a limit of the defaults from a team.
func (n Node) IsNone() bool {
	text, ok := n.Text()
	return ok && text == "none"
}

// OneOrNone returns a function that reads a single value of a form, or the word none for the zero value.
func OneOrNone[T any](to *T, f Form[T]) func(Node) {
	return func(n Node) {
		var zero T
		if *to = zero; !n.IsNone() {
			*to, _ = Read(n, f)
		}
	}
}

// List reads a list of values of a form. Unless once is empty, a repeated value is a fault, and once says what is allowed.
func List[T comparable](n Node, of string, f Form[T], once string) (all []T) {
	n.Items("a list of "+of, func(item Node) {
		value, ok := Read(item, f)
		if ok && once != "" && slices.Contains(all, value) {
			item.Refuse(fmt.Sprint(value), once)
		}
		all = append(all, value)
	})
	return all
}

// Some returns a function that reads a list of at least one value. An empty list would look like an absent one, which means all.
func Some[T comparable](to *[]T, of string, f Form[T]) func(Node) {
	return func(n Node) {
		if *to = List(n, of, f, ""); len(*to) == 0 && (n.IsNull() || n.IsList()) {
			n.Fault(Fault{Given: "an empty list", Allowed: "a list of " + of + ", or no such line for all"})
		}
	}
}
