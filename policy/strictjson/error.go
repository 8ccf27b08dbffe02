package strictjson

import (
	"fmt"
	"strconv"
)

// A Fault is the machine-readable word for what keeps the input from being one strict JSON document.
type Fault string

// The faults. All but FaultSyntax and FaultTrailing are documents that some parsers take, each in its own way.
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

// Error says why the input is not one strict JSON document.
type Error struct {
	Offset int    // byte of the input at which the fault shows, from 0
	Fault  Fault  // what is wrong
	Input  string // at most MaxEcho bytes of the input at that place; may be empty
}

// Error names the offset and the fault, and quotes the input in printable ASCII.
func (e *Error) Error() string {
	if e.Input == "" {
		return fmt.Sprintf("byte %d: %s", e.Offset, e.Fault)
	}
	return fmt.Sprintf("byte %d: %s at %s", e.Offset, e.Fault, strconv.QuoteToASCII(e.Input))
}

func (s *Scanner) fail(at int, fault Fault) error {
	at = min(at, len(s.src))
	rest := s.src[at:]
	return &Error{Offset: at, Fault: fault, Input: string(rest[:min(len(rest), MaxEcho)])}
}
