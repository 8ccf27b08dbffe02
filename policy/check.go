package policy

// rule is one row of the table: one sentence of interface.md.
type rule struct {
	ID    string // <kind>.<field>[.<aspect>], where text stands for text and chat, image for all kinds of images
	When  when   // which requests it is about
	Field string // path of the member it is about, or the header
	Check check  // what it demands
	From  string // the sentence it comes from
	Mode  Mode   // what happens to a request that breaks it, unless a setting says otherwise
}

// when tells which requests a rule is about.
type when struct {
	text  string // for the printed table
	holds func(*Request) bool
}

// check is the demand of a rule.
type check struct {
	allowed string                 // what is allowed, in words: "a number from -2 to 2"
	limit   string                 // the bound as one number, if there is just one
	find    func(*Request) offence // the first offender
	field   field                  // without this member find finds nothing; fieldUnknown: it may
	mark    mark                   // the same for a mark; markNone: it may
}

// offends is an offence without an index.
func offends(given string) offence { return offence{given: given, count: 1} }
