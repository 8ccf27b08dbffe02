// Package strictyaml reads YAML and JSON that an operator wrote, strictly: [Parse] reports everything that is wrong
// together, each [Fault] with its place, what was given and what is allowed, and never shows text that may be a
// secret. Unknown and repeated fields, anchors, tags and a second document are faults.
//
// The reader of a type lists its fields with [May] and [Must], each with the function that reads it: [One] value of a
// [Form], a [List], a [Group] of further fields.
//
// Why the library's decoder is not used: docs/decisions/teams-file.md.
package strictyaml

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"sluice/policy/unit"
)

// Node is a value of the document, the path that leads to it, and the reader that collects what is wrong with it.
type Node struct {
	*Reader
	ast  ast.Node
	path string
}

// Reader collects what is wrong with a document while it is read.
type Reader struct {
	faults   Faults
	warnings Faults
	first    map[string]int // the line where each unique name was first found, by kind and name
	Money    unit.Money     // in which its amounts of money count
	AnyMoney bool           // the Money is unknown: amounts may have the decimals of any
	Patch    bool           // it is a merge patch: any member may be null, and none is required
	Root     Node
}

// Parse parses a file that holds one YAML document with one value, and reads that. Its error is of type [Faults].
func Parse(doc []byte, read func(root Node)) (*Reader, error) {
	r := &Reader{first: map[string]int{}}
	if r.document(doc) {
		read(r.Root)
	}
	if len(r.faults) > 0 {
		return nil, r.faults.sorted()
	}
	return r, nil
}

// token returns the token at which a fault in the node is shown. For a block mapping that is the first key, because
// the mapping's own token is a colon.
func (n Node) token() *token.Token {
	if m, ok := n.ast.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return n.ast.GetToken()
}

// IsNull reports whether the value is absent, ~ or null.
func (n Node) IsNull() bool { return n.ast.Type() == ast.NullType }

// IsList reports whether the value is a sequence, which may be empty.
func (n Node) IsList() bool { return n.ast.Type() == ast.SequenceType }

// Text returns the text of a single value as written, without quotes; ok is false if it is not a single value.
func (n Node) Text() (text string, ok bool) { return scalar(n.ast) }

// JSON is an accepted value as JSON that reads the same again: members sorted by name, numbers as written.
func (n Node) JSON() json.RawMessage { return appendJSON(nil, n.ast) }

// Member returns a member of a mapping before the others are read; ok is false if it is missing.
func (n Node) Member(name string) (value Node, ok bool) {
	mapping, ok := n.ast.(*ast.MappingNode)
	for i := 0; ok && i < len(mapping.Values); i++ {
		if key, _ := scalar(mapping.Values[i].Key); key == name {
			return Node{n.Reader, mapping.Values[i].Value, name}, true
		}
	}
	return Node{}, false
}

// placed is a fault with the place of n.
func (n Node) placed(f Fault) Fault {
	p := n.token().Position
	f.Line, f.Column, f.Field = p.Line, p.Column, n.path
	return f
}

// Fault notes that something is wrong at n.
func (n Node) Fault(f Fault) { n.faults = append(n.faults, n.placed(f)) }

// Refuse notes that the value given, a word of the document, is not one of those allowed.
func (n Node) Refuse(given, allowed string) {
	n.Fault(Fault{Given: Shown(given), Allowed: allowed, Word: Named(given)})
}

// Warn notes something at n that is allowed but possibly unintended.
func (n Node) Warn(text string) { n.warnings = append(n.warnings, n.placed(Fault{Text: text})) }

// AtMost refuses more elements than the bound.
func (n Node) AtMost(bound, count int, of string) {
	if count > bound {
		n.Fault(Fault{Given: fmt.Sprintf("%d %s", count, of), Allowed: fmt.Sprintf("at most %d", bound)})
	}
}

// Once notes a name that must be unique in the file, and refuses it if it occurred before.
func (n Node) Once(what, name string) {
	id := what + " " + name
	if line, twice := n.first[id]; twice {
		n.Fault(Fault{Text: "this " + what + " stands in line " + strconv.Itoa(line) + " already", Allowed: "each once in the file"})
		return
	}
	n.first[id] = n.token().Position.Line
}

// WrongKind notes a value that is not of the kind wanted.
func (n Node) WrongKind(wanted string) {
	kind := "a single value"
	switch n.ast.Type() {
	case ast.NullType:
		kind = "no value"
	case ast.MappingType:
		kind = "fields with values"
	case ast.SequenceType:
		kind = "a list"
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		kind = "an anchor, alias or merge (what teams share stands under defaults)"
	case ast.TagType:
		kind = "a tag"
	case ast.LiteralType:
		kind = "a block of text"
	}
	n.Fault(Fault{Given: kind, Allowed: wanted})
}

// Field is a member that a mapping may or must have, and the function that reads its value.
type Field struct {
	Name     string
	read     func(Node)
	required bool
}

// May is a field that a mapping may have.
func May(name string, read func(Node)) Field { return Field{name, read, false} }

// Must is a field that a mapping must have.
func Must(name string, read func(Node)) Field { return Field{name, read, true} }

// UnknownField is the text of the fault for a field that its mapping does not know.
const UnknownField = "unknown field"

// Fields reads a mapping that may have only these members, and returns the names that it has; nil: not a mapping. A
// missing value counts as an empty mapping.
func (n Node) Fields(known ...Field) (given map[string]bool) {
	given = map[string]bool{}
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.Name
	}
	isMapping := n.Pairs("the fields "+AnyOf(names), func(name string, key, value Node) {
		i := slices.Index(names, name)
		if i < 0 {
			key.Fault(Fault{Text: UnknownField, Advice: Meant(name, names), Allowed: AnyOf(names), Word: Named(name)})
			return
		}
		if given[name] = true; !n.Patch || !value.IsNull() {
			known[i].read(value)
		}
	})
	if !isMapping {
		return nil
	}
	for _, f := range known {
		if f.required && !given[f.Name] && !n.Patch {
			n.Fault(Fault{Text: f.Name + " is missing"})
		}
	}
	return given
}

// Group returns a function that reads a mapping with these fields.
func Group(known ...Field) func(Node) { return func(n Node) { n.Fields(known...) } }

// Pairs calls read for every member of a mapping, and reports whether it is one. A repeated name is a fault.
func (n Node) Pairs(wanted string, read func(name string, key, value Node)) bool {
	if n.IsNull() {
		return true
	}
	mapping, ok := n.ast.(*ast.MappingNode)
	if !ok {
		n.WrongKind(wanted)
		return false
	}
	seen := map[string]int{}
	for _, pair := range mapping.Values {
		name, ok := scalar(pair.Key)
		path := Named(name)
		if !ok {
			path = "?"
		}
		if n.path != "" {
			path = n.path + "." + path
		}
		key, value := Node{n.Reader, pair.Key, path}, Node{n.Reader, pair.Value, path}
		line, twice := seen[name]
		switch {
		case !ok:
			key.WrongKind("a plain word for a field's name")
		case twice:
			key.Fault(Fault{Text: "stands twice, first in line " + strconv.Itoa(line)})
		default:
			seen[name] = key.token().Position.Line
			read(name, key, value)
		}
	}
	return true
}

// Items calls read for every element of a sequence, and returns their number; -1: not a sequence. A missing value counts as an
// empty one.
func (n Node) Items(wanted string, read func(Node)) int {
	if n.IsNull() {
		return 0
	}
	sequence, ok := n.ast.(*ast.SequenceNode)
	if !ok {
		n.WrongKind(wanted)
		return -1
	}
	for i, item := range sequence.Values {
		read(Node{n.Reader, item, n.path + "[" + strconv.Itoa(i) + "]"})
	}
	return len(sequence.Values)
}

// scalar returns the text of a single value as written, without quotes, so that no digit of a number is lost.
func scalar(n ast.Node) (text string, ok bool) {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// isQuoted reports whether a single value has quotes.
func isQuoted(n ast.Node) bool {
	kind := n.GetToken().Type
	return kind == token.SingleQuoteType || kind == token.DoubleQuoteType
}

// Faulty reports whether something is wrong with the document so far.
func (r *Reader) Faulty() bool { return len(r.faults) > 0 }

// Warned returns the warnings, one line each, in the order of the document.
func (r *Reader) Warned() (lines []string) {
	for _, w := range r.warnings.sorted() {
		lines = append(lines, w.String())
	}
	return lines
}

// Amend lets change rewrite the faults that were noted so far.
func (r *Reader) Amend(change func(*Fault)) {
	for i := range r.faults {
		change(&r.faults[i])
	}
}
