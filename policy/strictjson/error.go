package strictjson

import (
	"fmt"
	"strconv"
	"strings"
)

// A Fault is the machine-readable word for what keeps the input from being one strict JSON document.
type Fault string

// The faults. All but FaultSyntax and FaultTrailing are documents that some parsers accept, each in its own way.
const (
	FaultSyntax     Fault = "syntax"           // not JSON, or JSON that ends too early
	FaultTrailing   Fault = "trailing_data"    // something after the document
	FaultNotObject  Fault = "not_an_object"    // the document is not an object
	FaultDuplicate  Fault = "duplicate_member" // a member name twice in one object, also when spelled with escapes
	FaultCase       Fault = "case_variant"     // a member that equals a name known at its place except for case
	FaultUTF8       Fault = "invalid_utf8"     // bytes that are not UTF-8
	FaultSurrogate  Fault = "invalid_unicode"  // half of a surrogate pair
	FaultNUL        Fault = "nul_character"    // U+0000 in an identifier or a member name
	FaultDepth      Fault = "too_deep"         // nested deeper than 64, the document itself being 1
	FaultMembers    Fault = "too_many_members" // more than 10,000 members in one object, or 100,000 in all
	FaultLongName   Fault = "name_too_long"    // a member name of more than 256 bytes
	FaultLongNumber Fault = "number_too_long"  // a number of more than 64 bytes
)

// MaxEcho is how many bytes of a client's input a message may repeat: enough to find the place, too few to write into
// a log at will.
const MaxEcho = 64

// Error is why the input is not one strict JSON document.
type Error struct {
	Offset int    // byte of the input at which the fault shows, from 0
	Fault  Fault  // what is wrong
	Input  string // at most MaxEcho bytes of the input at that place; may be empty
}

// faultTexts describe each fault, with %s for the input at the fault.
var faultTexts = map[Fault]string{
	FaultSyntax:     "a syntax error at %s",
	FaultTrailing:   "more data after the document at %s",
	FaultNotObject:  "no object at %s",
	FaultDuplicate:  "the member %s appears twice",
	FaultCase:       "the member %s must be written in lower case",
	FaultUTF8:       "bytes that are not UTF-8 at %s",
	FaultSurrogate:  "half of a surrogate pair at %s",
	FaultNUL:        "U+0000 in a name or an id at %s",
	FaultDepth:      "more than 64 levels of nesting",
	FaultMembers:    "more than 10,000 members in one object, or 100,000 in all",
	FaultLongName:   "a member name of more than 256 bytes",
	FaultLongNumber: "a number of more than 64 bytes",
}

// Error describes the fault with its offset.
func (e *Error) Error() string { return fmt.Sprintf("%s (byte %d)", e.Text(), e.Offset) }

// Text describes the fault, and quotes the input in printable ASCII.
func (e *Error) Text() string {
	text := faultTexts[e.Fault]
	if strings.Contains(text, "%s") {
		return fmt.Sprintf(text, e.shown())
	}
	return text
}

// shown is the name of the member at the fault if the text is about a member, else the input.
func (e *Error) shown() string {
	if e.Input == "" {
		return "the end"
	}
	if e.Fault == FaultDuplicate || e.Fault == FaultCase {
		r := NewReader([]byte(e.Input))
		if name := r.String(); !r.Broken() { // a long name is cut off
			return strconv.QuoteToASCII(string(Unescape(nil, name, MaxEcho)))
		}
	}
	return strconv.QuoteToASCII(e.Input)
}

// fail notes a fault, unless one was noted before.
func (r *lexer) fail(at int, fault Fault) {
	if r.fault == "" {
		r.fault, r.at = fault, min(at, len(r.src))
	}
	r.pos = len(r.src)
}

// Fault is the offset of the fault that was found, or of what follows the document.
func (r *lexer) Fault() int {
	if r.Broken() {
		return r.at
	}
	return r.pos
}

// Err is the fault that was found, of type [*Error].
func (r *lexer) Err() error {
	if !r.Broken() {
		return nil
	}
	rest := r.src[r.at:]
	return &Error{Offset: r.at, Fault: r.fault, Input: string(rest[:min(len(rest), MaxEcho)])}
}

// Broken reports whether a fault was found.
func (r *lexer) Broken() bool { return r.fault != "" }
