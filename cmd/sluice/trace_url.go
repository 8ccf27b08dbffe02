package main

import (
	"net/url"
	"strings"
)

// traceTemplate is the address of a trace in the operator's tool, with {trace} in place of its id.
type traceTemplate string

// parseTraceTemplate reads the address of traces.
func parseTraceTemplate(text string) (traceTemplate, error) {
	u, err := url.Parse(strings.ReplaceAll(text, "{trace}", "0"))
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" || !strings.Contains(text, "{trace}") {
		return "", errValue
	}
	return traceTemplate(text), nil
}
