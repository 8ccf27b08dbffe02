package main

import "testing"

func TestTheAddressOfTraces(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://traces.example/trace/{trace}":              true,
		"http://localhost:16686/trace/{trace}?uiEmbed=v0":   true,
		"https://grafana.example/explore?trace={trace}&a=b": true,
		"https://traces.example/trace/":                     false,
		"traces.example/{trace}":                            false,
		"javascript:alert({trace})":                         false,
		"https://user:secret@traces.example/{trace}":        false,
		"https:///{trace}":                                  false,
	} {
		if got, err := parseTraceTemplate(text); (err == nil) != ok || ok && string(got) != text {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
