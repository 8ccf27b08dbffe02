package teams

import "strconv"

// reader reads values of a YAML document and collects what is wrong with them. It reads the library's syntax tree: a
// decoder into structs stops at its first type error, turns 0.1 into a float, and forgets the lines that checks across
// fields need.
type reader struct {
	faults   Faults
	warnings Faults
	first    map[string]int // the line where each unique name first stood, by kind and name
}

// fileReader reads the teams file: its methods know the file's fields, those of reader do not.
type fileReader struct {
	reader
	owner  Owner  // of the teams that are read
	places []node // the teams, for the warnings that need the whole file
}

// fault notes that something is wrong at n.
func (r *reader) fault(n node, text string) { r.faults = append(r.faults, faultAt(n, text)) }

// refuse notes that the value given is not one of those allowed.
func (r *reader) refuse(n node, given, allowed string) {
	r.faults = append(r.faults, faultAt(n, "got "+shown(given)+", allowed: "+allowed).showing(given))
}

// once notes a name that must be unique in the file and stood there before.
func (r *reader) once(n node, what, name string) {
	id := what + " " + name
	if line, twice := r.first[id]; twice {
		r.fault(n, "this "+what+" stands in line "+strconv.Itoa(line)+" already, allowed: each once in the file")
		return
	}
	r.first[id] = n.line()
}

// warn notes something at n that is allowed and that the author may not have meant.
func (r *reader) warn(n node, text string) { r.warnings = append(r.warnings, faultAt(n, text)) }

func faultAt(n node, text string) Fault {
	p := n.token().Position
	return Fault{Line: p.Line, Column: p.Column, Field: n.path, Text: text}
}

// showing adds the word that stands at the fault, for its caret.
func (f Fault) showing(word string) Fault {
	f.Word = named(word)
	return f
}
