// Package forms reads requests on forwarded paths, as far as governing them needs: the model that does the work, and
// what it may cost. The bytes are forwarded unchanged.
//
// It is strict about the document, which the service must read as Sluice did, and judges no rules: what a form allows
// is the service's business. It is pure.
package forms

import (
	"slices"
	"strings"
)

// Form says how the bodies of a forwarded path are read, and where an answer has its usage.
type Form string

// The forms. A path without a form is [Opaque].
const (
	Opaque    Form = "opaque"    // not read: no model, no usage, one request
	Native    Form = "native"    // the service's own: model, input, parameters
	OpenAI    Form = "openai"    // chat completions
	Responses Form = "responses" // OpenAI's Responses
	Messages  Form = "messages"  // Anthropic's Messages

	// Embeddings is the service's own form for vectors of texts. Only SLUICE_EMBEDDINGS_PATH has it, no forwarded path.
	Embeddings Form = "embeddings"
)

// All lists the forms of forwarded paths.
var All = []Form{Native, OpenAI, Responses, Messages, Opaque}

// Governed reports whether requests of the form are read, so that models, prices and all limits apply to them.
func (f Form) Governed() bool { return f != Opaque && f != "" }

// Path is a prefix of forwarded paths.
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
