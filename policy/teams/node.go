package teams

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"sluice/policy/unit"
)

// node is a value of the document, the path that leads to it, and the reader that collects what is wrong with it.
type node struct {
	*reader
	ast  ast.Node
	path string
}

// reader collects what is wrong with a document. It reads the library's syntax tree into the types of this package. The library's
// decoder would not do: docs/decisions/teams-file.md.
type reader struct {
	faults    Faults
	warnings  Faults
	first     map[string]int // the line where each unique name was first found, by kind and name
	directory bool           // the document is a directory's, not a teams file
	counts    unit.Money     // what its amounts of money count in
	anyMoney  bool           // which is not known: the amounts may be of any
	patch     bool           // it is a merge patch: any member may be null, and none is required
	root      node
	places    []node // the teams
}

// readWhole parses a file that holds one YAML document with one value, and reads that. Its error is of type [Faults].
func readWhole(doc []byte, directory bool, read func(root node)) (*reader, error) {
	r := &reader{first: map[string]int{}, directory: directory}
	if r.document(doc) {
		read(r.root)
	}
	if len(r.faults) > 0 {
		return nil, r.faults.sorted()
	}
	return r, nil
}

// token returns the token at which a fault in the node is shown. For a block mapping that is the first key: the mapping's own token is
// a colon.
func (n node) token() *token.Token {
	if m, ok := n.ast.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return n.ast.GetToken()
}

// isNull reports whether there is no value, or ~ or null.
func (n node) isNull() bool { return n.ast.Type() == ast.NullType }

// placed is a fault with the place of n.
func (n node) placed(f Fault) Fault {
	p := n.token().Position
	f.Line, f.Column, f.Field = p.Line, p.Column, n.path
	return f
}

// fault notes that something is wrong at n.
func (n node) fault(f Fault) { n.faults = append(n.faults, n.placed(f)) }

// refuse notes that the value given, a word of the document, is not one of those allowed.
func (n node) refuse(given, allowed string) {
	n.fault(Fault{Given: shown(given), Allowed: allowed, Word: named(given)})
}

// warn notes something at n that is allowed and that the author may not have meant.
func (n node) warn(text string) { n.warnings = append(n.warnings, n.placed(Fault{Text: text})) }

// atMost refuses more elements than the bound.
func (n node) atMost(bound, count int, of string) {
	if count > bound {
		n.fault(Fault{Given: fmt.Sprintf("%d %s", count, of), Allowed: fmt.Sprintf("at most %d", bound)})
	}
}

// once notes a name that must be unique in the file, and refuses it if it occurred before.
func (n node) once(what, name string) {
	id := what + " " + name
	if line, twice := n.first[id]; twice {
		n.fault(Fault{Text: "this " + what + " stands in line " + strconv.Itoa(line) + " already", Allowed: "each once in the file"})
		return
	}
	n.first[id] = n.token().Position.Line
}

// wrongKind notes a value that is not of the kind wanted.
func (n node) wrongKind(wanted string) {
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
	n.fault(Fault{Given: kind, Allowed: wanted})
}

// field is a member that a mapping may or must have, and what reads its value.
type field struct {
	name     string
	read     func(node)
	required bool
}

func may(name string, read func(node)) field { return field{name, read, false} }

func must(name string, read func(node)) field { return field{name, read, true} }

const unknownField = "unknown field"

// fields reads a mapping that has no other members than these, and returns the names that it has; nil: not a mapping. A missing
// value counts as an empty mapping.
func (n node) fields(known ...field) (given map[string]bool) {
	given = map[string]bool{}
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.name
	}
	isMapping := n.pairs("the fields "+anyOf(names), func(name string, key, value node) {
		i := slices.Index(names, name)
		if i < 0 {
			key.fault(Fault{Text: unknownField, Advice: meant(name, names), Allowed: anyOf(names), Word: named(name)})
			return
		}
		if given[name] = true; !n.patch || !value.isNull() {
			known[i].read(value)
		}
	})
	if !isMapping {
		return nil
	}
	for _, f := range known {
		if f.required && !given[f.name] && !n.patch {
			n.fault(Fault{Text: f.name + " is missing"})
		}
	}
	return given
}

// group returns what reads a mapping with these fields.
func group(known ...field) func(node) { return func(n node) { n.fields(known...) } }

// pairs calls read for every member of a mapping, and reports whether it is one. A repeated name is a fault.
func (n node) pairs(wanted string, read func(name string, key, value node)) bool {
	if n.isNull() {
		return true
	}
	mapping, ok := n.ast.(*ast.MappingNode)
	if !ok {
		n.wrongKind(wanted)
		return false
	}
	seen := map[string]int{}
	for _, pair := range mapping.Values {
		name, ok := scalar(pair.Key)
		path := named(name)
		if !ok {
			path = "?"
		}
		if n.path != "" {
			path = n.path + "." + path
		}
		key, value := node{n.reader, pair.Key, path}, node{n.reader, pair.Value, path}
		line, twice := seen[name]
		switch {
		case !ok:
			key.wrongKind("a plain word for a field's name")
		case twice:
			key.fault(Fault{Text: "stands twice, first in line " + strconv.Itoa(line)})
		default:
			seen[name] = key.token().Position.Line
			read(name, key, value)
		}
	}
	return true
}

// items calls read for every element of a sequence, and returns their number; -1: not a sequence. A missing value counts as an
// empty one.
func (n node) items(wanted string, read func(node)) int {
	if n.isNull() {
		return 0
	}
	sequence, ok := n.ast.(*ast.SequenceNode)
	if !ok {
		n.wrongKind(wanted)
		return -1
	}
	for i, item := range sequence.Values {
		read(node{n.reader, item, n.path + "[" + strconv.Itoa(i) + "]"})
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
