package rules

import (
	"math"
	"testing"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/request"
)

func TestSpan(t *testing.T) {
	for _, tt := range []struct {
		name string
		span span
		v    any
		want string
	}{
		{"inside", span{from: 0, to: 1}, .5, ""},
		{"lower end", span{from: 0, to: 1}, 0., ""},
		{"upper end", span{from: 0, to: 1}, 1., ""},
		{"below", span{from: 0, to: 1}, -.1, "must be in [0, 1]"},
		{"above", span{from: 0, to: 1}, 1.1, "must be in [0, 1]"},
		{"open lower end", span{from: 0, to: 1, openFrom: true}, 0., "must be in (0, 1]"},
		{"open upper end", span{from: 0, to: 2, openTo: true}, 2., "must be in [0, 2)"},
		{"no bound", span{from: 0, to: math.Inf(1), openFrom: true}, 1e300, ""},
		{"no number", span{from: 0, to: 1}, "1", "must be a number"},
		{"whole", span{from: 0, to: 4, whole: true}, 4., ""},
		{"not whole", span{from: 0, to: 4, whole: true}, 1.5, "must be an integer"},
	} {
		if got := tt.span.check(tt.v); got != tt.want {
			t.Errorf("%s: %v in %v says %q, want %q", tt.name, tt.v, tt.span, got, tt.want)
		}
	}
}

func TestCheckAll(t *testing.T) {
	rules := []rule{{"a", boolean}, {"b", str}, {"c", words("x", "y")}}
	for _, tt := range []struct {
		name       string
		parameters request.Object
		want       string
	}{
		{"nothing", nil, ""},
		{"null is absent", request.Object{"a": nil}, ""},
		{"all right", request.Object{"a": true, "b": "", "c": "y"}, ""},
		{"no boolean", request.Object{"a": "true"}, "parameters.a must be a boolean"},
		{"no string", request.Object{"b": 1.}, "parameters.b must be a string"},
		{"no such word", request.Object{"c": "z"}, "parameters.c must be one of x, y"},
		{"word of another kind", request.Object{"c": 1.}, "parameters.c must be one of x, y"},
		{"the first one speaks", request.Object{"b": 1., "c": 1.}, "parameters.b must be a string"},
		{"unknown names are legal", request.Object{"d": request.Object{}}, ""},
	} {
		err := checkAll(tt.parameters, rules)
		if (err == nil) != (tt.want == "") || err != nil && answer.AsRefusal(err).Message != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
