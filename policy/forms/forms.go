// Package forms reads requests on forwarded paths, as far as they must be read to be governed: which model does the work, and what it may
// cost. The bytes pass as they are.
//
// It is strict about the document, which the service must read as Sluice did, and judges no rules: what a form allows is the service's
// business. It is pure.
package forms

import (
	"slices"
	"strings"
)

// Form says how the bodies of a forwarded path are read, and where an answer has its usage.
type Form string

// The forms. [Opaque] is that of a path without a form.
const (
	Opaque    Form = "opaque"    // not read: no model, no usage, one request
	Native    Form = "native"    // the service's own: model, input, parameters
	OpenAI    Form = "openai"    // chat completions
	Responses Form = "responses" // OpenAI's Responses
	Messages  Form = "messages"  // Anthropic's Messages

	// Embeddings is the service's own form for vectors of texts. No forwarded path has it, but SLUICE_EMBEDDINGS_PATH.
	Embeddings Form = "embeddings"
)

// All lists the forms of forwarded paths.
var All = []Form{Native, OpenAI, Responses, Messages, Opaque}

// Governed reports whether requests of the form are read, so that models, prices and all limits count for them.
func (f Form) Governed() bool { return f != Opaque && f != "" }

// Path is a prefix of paths that are forwarded.
type Path struct {
	Prefix string // below the version prefix, no slash at either end
	Form   Form
}

// ReadPath reads a prefix, or prefix=form. It does not judge the prefix; ok is false if the form is unknown.
func ReadPath(text string) (p Path, ok bool) {
	prefix, form, has := strings.Cut(text, "=")
	if !has {
		form = string(Opaque)
	}
	return Path{prefix, Form(form)}, slices.Contains(All, Form(form))
}

// String writes the path as it is read; without the form if that is [Opaque].
func (p Path) String() string {
	if !p.Form.Governed() {
		return p.Prefix
	}
	return p.Prefix + "=" + string(p.Form)
}
