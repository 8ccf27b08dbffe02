package teams

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// jsonNumber is a number that YAML and JSON write alike.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// appendJSON appends a value that the reader accepted, so that it is read the same again.
func appendJSON(out []byte, n ast.Node) []byte {
	switch n := n.(type) {
	case *ast.MappingNode:
		out = append(out, '{')
		for i, pair := range n.Values {
			if i > 0 {
				out = append(out, ',')
			}
			name, _ := scalar(pair.Key)
			out = appendJSON(append(appendString(out, name), ':'), pair.Value)
		}
		return append(out, '}')
	case *ast.SequenceNode:
		out = append(out, '[')
		for i, item := range n.Values {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, item)
		}
		return append(out, ']')
	}
	text, ok := scalar(n)
	kind := n.GetToken().Type
	quoted := kind == token.SingleQuoteType || kind == token.DoubleQuoteType
	switch {
	case !ok:
		return append(out, "null"...)
	case !quoted && (text == "true" || text == "false" || jsonNumber.MatchString(text)):
		return append(out, text...)
	}
	return appendString(out, text)
}

// appendString appends a text in JSON, with < and > as they are.
func appendString(out []byte, text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string cannot fail
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
