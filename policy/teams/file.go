package teams

import "slices"

// File is one reading of the teams file. It never changes, so requests may use it while a newer one takes its place;
// what its fields point to MUST NOT be changed either. The zero File has no teams and knows no key.
type File struct {
	// Currency is the word for money in reports, "CNY". Empty: the file names none, and reports show bare numbers.
	Currency string
	// List holds the teams in the order of the file, disabled ones too, and then those of the directory, if it was joined.
	List []*Team
	// Account holds the upstream account's own limits, shared by all teams, in the order of the file. Nil: none.
	Account []AccountLimit
	// Prices holds the prices in the order of the file; the first whose pattern matches counts. Nil: none.
	Prices []Price
	// Catalogue names models to list for clients of OpenAI's interface, beside those that the file names elsewhere.
	Catalogue []string
	// Aliases are other names of models, which only that interface accepts, with the service's names. See [File.Resolve].
	Aliases map[string]string
	// Issuers are those whose tokens stand in place of keys. Nil: none.
	Issuers []*Issuer

	defaults *draft // what every team starts from; nil: nothing
	warnings []string
	keys     map[digest]keyOwner
	byID     map[string]*Team
	labels   labels
}

// Warnings lists what the file says and its author may not have meant, one line each, in the order of the file.
func (f *File) Warnings() []string { return slices.Clone(f.warnings) }

// Team returns the team with this id, or nil.
func (f *File) Team(id string) *Team { return f.byID[id] }
