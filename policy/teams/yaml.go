package teams

import (
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// The file is read from the YAML library's syntax tree and not decoded into structs: a decoder stops at its first type
// error, turns 0.1 into a float, and forgets the lines that the checks across fields need.

// fileReader collects what is wrong with a teams file while it is read.
type fileReader struct {
	faults   Faults
	warnings Faults
	places   []fileNode     // the teams, for the warnings that need the whole file
	first    map[string]int // where each team id, key id and digest first stood, by line
}

// fileNode is a value of the file with the path that leads to it.
type fileNode struct {
	ast  ast.Node
	path string
}

// token returns the token at which a fault in the node is shown: the first key of a block mapping, whose own token is
// a colon.
func (n fileNode) token() *token.Token {
	if m, ok := n.ast.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return n.ast.GetToken()
}

func (n fileNode) line() int { return n.token().Position.Line }

// isNull reports whether nothing is given: no value, ~ or null.
func (n fileNode) isNull() bool { return n.ast.Type() == ast.NullType }

// hasFields reports whether the node is a mapping; no value stands for an empty one.
func (n fileNode) hasFields() bool { return n.isNull() || n.ast.Type() == ast.MappingType }

// at returns the member of n with this name.
func (n fileNode) at(name string, value ast.Node) fileNode {
	if n.path == "" {
		return fileNode{value, name}
	}
	return fileNode{value, n.path + "." + name}
}

// fault notes that something is wrong at n.
func (r *fileReader) fault(n fileNode, text string) { r.faults = append(r.faults, faultAt(n, text)) }

// refuse notes that the value given is not one of those allowed.
func (r *fileReader) refuse(n fileNode, given, allowed string) {
	r.faults = append(r.faults, faultAt(n, "got "+shown(given)+", allowed: "+allowed).showing(given))
}

// once notes that a name which has to be unique in the file was given before.
func (r *fileReader) once(n fileNode, what, name string) {
	id := what + " " + name
	if line, twice := r.first[id]; twice {
		r.fault(n, "this "+what+" stands in line "+strconv.Itoa(line)+" already, allowed: each once in the file")
		return
	}
	r.first[id] = n.line()
}

// warn notes that something at n is allowed and maybe not meant.
func (r *fileReader) warn(n fileNode, text string) { r.warnings = append(r.warnings, faultAt(n, text)) }

func faultAt(n fileNode, text string) Fault {
	p := n.token().Position
	return Fault{Line: p.Line, Column: p.Column, Field: n.path, Text: text}
}

// showing adds the word that stands at the fault, for its caret.
func (f Fault) showing(word string) Fault {
	f.Word = named(word)
	return f
}

// fileField is a member that a mapping may have, and what reads its value.
type fileField struct {
	name string
	read func(fileNode)
}

// fields reads a mapping whose members are all known and returns the names that it has. Nothing given is an empty mapping.
func (r *fileReader) fields(n fileNode, known []fileField) (given map[string]bool) {
	given = map[string]bool{}
	r.pairs(n, "the fields "+list(fieldNames(known)), func(name string, key, value fileNode) {
		i := slices.IndexFunc(known, func(f fileField) bool { return f.name == name })
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
func (r *fileReader) unknown(key fileNode, name string, known []fileField) {
	names := fieldNames(known)
	text := "unknown field" + orNearest(name, names) + ", allowed: " + list(names)
	r.faults = append(r.faults, faultAt(key, text).showing(name))
}

func fieldNames(fields []fileField) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// pairs calls read for every member of a mapping, once per name.
func (r *fileReader) pairs(n fileNode, wanted string, read func(name string, key, value fileNode)) {
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

// items calls read for every element of a sequence. Nothing given is an empty one.
func (r *fileReader) items(n fileNode, wanted string, read func(fileNode)) {
	if n.isNull() {
		return
	}
	sequence, ok := n.ast.(*ast.SequenceNode)
	if !ok {
		r.wrongKind(n, wanted)
		return
	}
	for i, item := range sequence.Values {
		read(fileNode{item, n.path + "[" + strconv.Itoa(i) + "]"})
	}
}

// wrongKind notes a value that is not of the kind wanted.
func (r *fileReader) wrongKind(n fileNode, wanted string) {
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

// scalar returns the text of a single value as it is written, so that no digit of a number is lost, quotes removed.
func scalar(n ast.Node) (text string, ok bool) {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}
