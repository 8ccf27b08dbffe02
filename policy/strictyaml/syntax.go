package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Most bounds a document in bytes: ten thousand teams are about five million.
const Most = 8 << 20

// maxNested bounds brackets within brackets, or dashes in one line; the schema needs four. The YAML library's time grows with the square of
// the depth, and its stack with the depth.
const maxNested = 16

// document finds the root; false: there is not exactly one.
func (r *Reader) document(doc []byte) bool {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	r.plainKeys(doc)
	file, fault := parse(doc)
	if fault != nil {
		r.faults = append(r.faults, *fault)
		return false
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	if len(docs) == 0 {
		r.faults = append(r.faults, Fault{Text: "the file is empty", Allowed: "at least teams: []"})
		return false
	}
	if len(docs) > 1 {
		Node{r, docs[1].Body, ""}.Fault(Fault{Given: "a second document", Allowed: "one"})
	}
	r.Root = Node{r, docs[0].Body, ""}
	return len(docs) == 1
}

// notText is the fault of a document that is not a text file: it is too long, not UTF-8, or has control characters.
func notText(doc []byte) *Fault {
	if len(doc) > Most {
		return &Fault{Given: fmt.Sprintf("%d bytes", len(doc)), Allowed: fmt.Sprintf("at most %d, %d MiB", Most, Most>>20)}
	}
	strange := func(c rune) bool {
		return c == utf8.RuneError || c == 0x7f || c < ' ' && c != '\t' && c != '\n' && c != '\r'
	}
	if at := bytes.IndexFunc(doc, strange); at >= 0 {
		f := faultAt(doc, at)
		f.Given, f.Allowed = "a control character, or bytes that are not UTF-8", "text"
		return &f
	}
	return nil
}

// PlainKey is a whole key of Sluice's own form.
var PlainKey = regexp.MustCompile(`slk_[a-z0-9]{12}_[A-Za-z0-9]{43}`)

// HasPlainKey reports whether a text contains a whole key of Sluice's own form.
func HasPlainKey(text []byte) bool { return PlainKey.Match(text) }

// plainKeys notes every whole key in the file, even in comments: everyone who reads the file could use it.
func (r *Reader) plainKeys(doc []byte) {
	for _, at := range PlainKey.FindAllIndex(doc, -1) {
		f := faultAt(doc, at[0])
		f.Given, f.Allowed = "a plain key (not shown)", "its SHA-256; this key has been seen, so mint another"
		r.faults = append(r.faults, f)
	}
}

// faultAt is a fault at an offset of the document.
func faultAt(doc []byte, offset int) Fault {
	before := doc[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Fault{Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(before[start:])}
}

// parse runs the YAML library on a text. Its panic becomes a fault: a reload must never end the process.
func parse(doc []byte) (file *ast.File, fault *Fault) {
	defer func() {
		if recover() != nil {
			file, fault = nil, &Fault{Text: "not YAML"}
		}
	}()
	if fault := notText(doc); fault != nil {
		return nil, fault
	}
	tokens := lexer.Tokenize(string(doc))
	if deep := tooDeep(tokens); deep != nil {
		return nil, &Fault{Line: deep.Position.Line, Column: deep.Position.Column, Text: "not YAML: nested too deep"}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxFault(err)
	}
	return file, nil
}

// tooDeep returns the first token that is nested deeper than the bounds, or nil.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Type == token.CommentType {
			continue
		}
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
			if brackets == 0 && t.Position.Column > maxIndent {
				return t
			}
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			brackets++
		case token.MappingEndType, token.SequenceEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			dashes++
		}
		if max(brackets, dashes) > maxNested {
			return t
		}
	}
	return nil
}

// quotedInput matches input that the YAML library quotes in its messages.
var quotedInput = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// syntaxFault turns an error of the YAML library into a fault, without the source text in it.
func syntaxFault(err error) *Fault {
	var placed interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &placed) {
		return &Fault{Text: "not YAML"}
	}
	f := &Fault{Text: "not YAML: " + quotedInput.ReplaceAllString(placed.GetMessage(), "(not shown)")}
	if t := placed.GetToken(); t != nil && t.Position != nil {
		f.Line, f.Column = t.Position.Line, t.Position.Column
	}
	return f
}

// appendJSON appends an accepted value as JSON that reads the same again: members sorted by name, numbers as written.
func appendJSON(out []byte, n ast.Node) []byte {
	switch n := n.(type) {
	case *ast.MappingNode:
		members := map[string]json.RawMessage{}
		for _, pair := range n.Values {
			name, _ := scalar(pair.Key)
			members[name] = appendJSON(nil, pair.Value)
		}
		return append(out, Encode(members)...)
	case *ast.SequenceNode:
		items := make([]json.RawMessage, len(n.Values))
		for i, item := range n.Values {
			items[i] = appendJSON(nil, item)
		}
		return append(out, Encode(items)...)
	}
	text, ok := scalar(n)
	switch {
	case !ok:
		return append(out, "null"...)
	case !isQuoted(n) && (text == "true" || text == "false" || Number.MatchString(text)):
		return append(out, text...)
	}
	return append(out, Encode(text)...)
}

// Encode writes a value as JSON, without escapes for < and >. The values of a document can always be written.
func Encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic("teams: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
