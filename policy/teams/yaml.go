package teams

import (
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// node is a value of the document and the path that leads to it.
type node struct {
	ast  ast.Node
	path string
}

// token returns the token at which a fault in the node is shown. For a block mapping that is the first key: the mapping's own token is
// a colon.
func (n node) token() *token.Token {
	if m, ok := n.ast.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return n.ast.GetToken()
}

func (n node) line() int { return n.token().Position.Line }

// isNull reports whether there is no value, or ~ or null.
func (n node) isNull() bool { return n.ast.Type() == ast.NullType }

// hasFields reports whether the node is a mapping. No value counts as an empty one.
func (n node) hasFields() bool { return n.isNull() || n.ast.Type() == ast.MappingType }

// at returns the member of n with this name.
func (n node) at(name string, value ast.Node) node {
	if n.path == "" {
		return node{value, name}
	}
	return node{value, n.path + "." + name}
}

// field is a member that a mapping may have, and what reads its value.
type field struct {
	name string
	read func(node)
}

// fields reads a mapping that may only have known members, and returns the names that it has. No value counts as an
// empty mapping.
func (r *reader) fields(n node, known []field) (given map[string]bool) {
	given = map[string]bool{}
	r.pairs(n, "the fields "+list(fieldNames(known)), func(name string, key, value node) {
		i := slices.IndexFunc(known, func(f field) bool { return f.name == name })
		if i < 0 {
			r.unknown(key, name, known)
			return
		}
		given[name] = true
		known[i].read(value)
	})
	return given
}

// unknown notes a member that the mapping may not have.
func (r *reader) unknown(key node, name string, known []field) {
	names := fieldNames(known)
	text := "unknown field" + orNearest(name, names) + ", allowed: " + list(names)
	r.faults = append(r.faults, faultAt(key, text).showing(name))
}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// pairs calls read for every member of a mapping. A name that comes again is a fault.
func (r *reader) pairs(n node, wanted string, read func(name string, key, value node)) {
	if n.isNull() {
		return
	}
	mapping, ok := n.ast.(*ast.MappingNode)
	if !ok {
		r.wrongKind(n, wanted)
		return
	}
	seen := map[string]int{}
	for _, pair := range mapping.Values {
		name, ok := scalar(pair.Key)
		key, value := n.at(named(name), pair.Key), n.at(named(name), pair.Value)
		if !ok {
			r.wrongKind(n.at("?", pair.Key), "a plain word for a field's name")
			continue
		}
		if line, twice := seen[name]; twice {
			r.fault(key, "stands twice, first in line "+strconv.Itoa(line))
			continue
		}
		seen[name] = key.line()
		read(name, key, value)
	}
}

// items calls read for every element of a sequence. No value counts as an empty one.
func (r *reader) items(n node, wanted string, read func(node)) {
	if n.isNull() {
		return
	}
	sequence, ok := n.ast.(*ast.SequenceNode)
	if !ok {
		r.wrongKind(n, wanted)
		return
	}
	for i, item := range sequence.Values {
		read(node{item, n.path + "[" + strconv.Itoa(i) + "]"})
	}
}

// wrongKind notes a value that is not of the kind wanted.
func (r *reader) wrongKind(n node, wanted string) {
	r.fault(n, "got "+kindOf(n.ast)+", allowed: "+wanted)
}

func kindOf(n ast.Node) string {
	switch n.Type() {
	case ast.NullType:
		return "no value"
	case ast.MappingType:
		return "fields with values"
	case ast.SequenceType:
		return "a list"
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		return "an anchor, alias or merge (what teams share stands under defaults)"
	case ast.TagType:
		return "a tag"
	case ast.LiteralType:
		return "a block of text"
	default:
		return "a single value"
	}
}

// scalar returns the text of a single value as it is written, without quotes. So no digit of a number is lost.
func scalar(n ast.Node) (text string, ok bool) {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}
