package policy

import (
	"fmt"
	"strconv"
)

// A BodyFault is the machine-readable word for what keeps a body from being one strict JSON document.
type BodyFault string

// The faults of a body. All but FaultSyntax and FaultTrailing are documents that some parsers take, each in its own way.
const (
	FaultSyntax     BodyFault = "syntax"           // not JSON, or JSON that ends too early
	FaultTrailing   BodyFault = "trailing_data"    // something after the document
	FaultNotObject  BodyFault = "not_an_object"    // the document is no object
	FaultDuplicate  BodyFault = "duplicate_member" // a member name twice in one object, also when spelled with escapes
	FaultCase       BodyFault = "case_variant"     // a member that equals a name known at its place except for case
	FaultUTF8       BodyFault = "invalid_utf8"     // bytes that are no UTF-8
	FaultSurrogate  BodyFault = "invalid_unicode"  // half of a surrogate pair
	FaultNUL        BodyFault = "nul_character"    // U+0000 in a model, an id or a name
	FaultDepth      BodyFault = "too_deep"         // nested deeper than 64, the document itself being 1
	FaultMembers    BodyFault = "too_many_members" // more than 10,000 members in one object, or 100,000 in all
	FaultLongName   BodyFault = "name_too_long"    // a member name of more than 256 bytes
	FaultLongNumber BodyFault = "number_too_long"  // a number of more than 64 bytes
)

// maxEcho is how many bytes of a client's input a message may repeat: enough to find the place, too little to be a
// way of writing into a log.
const maxEcho = 64

// BodyError says why a body is not one strict JSON document.
type BodyError struct {
	Offset int       // byte of the body at which the fault shows, from 0
	Fault  BodyFault // what is wrong
	Input  string    // at most 64 bytes of the input at that place; may be empty
}

// Error names the offset and the fault, and quotes the input so that it is printable ASCII.
func (e *BodyError) Error() string {
	if e.Input == "" {
		return fmt.Sprintf("byte %d: %s", e.Offset, e.Fault)
	}
	return fmt.Sprintf("byte %d: %s at %s", e.Offset, e.Fault, strconv.QuoteToASCII(e.Input))
}

// echo is the part of input that a message may repeat.
func echo(input []byte) string {
	return string(input[:min(len(input), maxEcho)])
}
