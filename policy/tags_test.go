package policy_test

import (
	"strings"
	"testing"

	"sluice/policy"
)

func TestTags(t *testing.T) {
	long := "user=" + strings.Repeat("x", 59) // 64 bytes
	for _, tt := range []struct {
		given []string
		want  policy.Tags
		fault string
	}{
		{nil, "", ""},
		{[]string{"project=alpha,user=42"}, "project=alpha,user=42", ""},
		{[]string{"project=alpha , user=42"}, "project=alpha,user=42", ""},
		{[]string{"project=alpha", "user=42"}, "project=alpha,user=42", ""},
		{[]string{"a=1,b=2,c=3,d=4"}, "a=1,b=2,c=3,d=4", ""},
		{[]string{long}, policy.Tags(long), ""},
		{[]string{"a.b_c-d=0.9_a-"}, "a.b_c-d=0.9_a-", ""},
		{[]string{"a=1,b=2,c=3,d=4,e=5"}, "", "got 5 pairs, allowed: at most 4"},
		{[]string{long + "x"}, "", "pair 1 is not valid"},
		{[]string{""}, "", "pair 1 is not valid"},
		{[]string{"a=1,"}, "", "pair 2 is not valid"},
		{[]string{"a"}, "", "pair 1 is not valid"},
		{[]string{"a="}, "", "pair 1 is not valid"},
		{[]string{"=1"}, "", "pair 1 is not valid"},
		{[]string{"a=1=2"}, "", "pair 1 is not valid"},
		{[]string{"A=1"}, "", "pair 1 is not valid"},
		{[]string{"a=ä"}, "", "pair 1 is not valid"},
		{[]string{"a=1 2"}, "", "pair 1 is not valid"},
		{[]string{"a=#"}, "", "pair 1 is not valid"},
		{[]string{"a=1,b=2,a=3"}, "", "the name a appears twice"},
	} {
		got, err := policy.ParseTags(tt.given)
		if got != tt.want || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%q: %q, %v, want %q, %q", tt.given, got, err, tt.want, tt.fault)
		}
	}
}

func TestValueOfATag(t *testing.T) {
	tags := policy.Tags("project=alpha,user=42")
	for name, want := range map[string]string{"project": "alpha", "user": "42", "pro": "", "ser": "", "": "", "alpha": ""} {
		if got := tags.Value(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
