package redisclient

import (
	"reflect"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"redis://a":                      {hosts: []string{"a:6379"}},
		"rediss://a:7/3":                 {hosts: []string{"a:7"}, tls: true, db: 3},
		"redis://u%40:p%3A:q@a":          {hosts: []string{"a:6379"}, user: "u@", password: "p::q"},
		"redis://[::1]":                  {hosts: []string{"[::1]:6379"}},
		"redis+cluster://a,b:7":          {hosts: []string{"a:6379", "b:7"}, topology: cluster},
		"rediss+sentinel://a,b:7/main/2": {hosts: []string{"a:26379", "b:7"}, topology: sentinel, tls: true, master: "main", db: 2},
	} {
		if got, ok := ParseAddress(text); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "a:6379", "http://a", "redis://", "redis://a,b", "redis://a:x", "redis://u@a", "redis://a/x", "redis+cluster://a/1", "redis+sentinel://a", "redis://a/1001"} {
		if _, ok := ParseAddress(text); ok {
			t.Errorf("%q counts as an address", text)
		}
	}
}
