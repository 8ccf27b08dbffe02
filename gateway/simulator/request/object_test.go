package request

import "testing"

func TestObject(t *testing.T) {
	o := Object{
		"s": "text", "n": 7., "half": 1.5, "huge": 1e300, "yes": true, "no": false, "null": nil,
		"o": map[string]any{"s": "inner"}, "l": []any{1.},
	}
	if got := o.Child("o").Text("s"); got != "inner" {
		t.Errorf("child's text is %q", got)
	}
	for _, name := range []string{"s", "n", "l", "null", "absent"} {
		if o.Child(name) != nil {
			t.Errorf("%s is an object", name)
		}
	}
	for _, name := range []string{"n", "o", "null", "absent"} {
		if o.Text(name) != "" || o.List(name) != nil || o.Flag(name) {
			t.Errorf("%s has a value of another type", name)
		}
	}
	for name, want := range map[string]int{"n": 7, "half": -1, "huge": -1, "s": -1, "null": -1, "absent": -1} {
		if got := o.Integer(name, -1); got != want {
			t.Errorf("integer %s is %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]bool{"yes": true, "no": false, "absent": true, "null": true, "s": true} {
		if got := o.FlagOr(name, true); got != want {
			t.Errorf("flag %s is %v, want %v", name, got, want)
		}
	}
	if len(o.List("l")) != 1 {
		t.Error("the list is gone")
	}
	var none Object
	if none.Child("a").Child("b").Text("c") != "" || none.Integer("a", 3) != 3 {
		t.Error("an absent object has members")
	}
}
