package policy

// rule is one row of the table: one sentence of interface.md.
type rule struct {
	ID    string // <kind>.<field>[.<aspect>], where text stands for text and chat, image for all kinds of images
	When  when   // which requests it is about
	Field string // path of the member it is about, or the header
	Check check  // what it demands
	From  string // the sentence it comes from
	Mode  Mode   // what a breach does unless a setting says otherwise
}

// when tells which requests a rule is about.
type when struct {
	text  string // for the printed table
	holds func(*Request) bool
}

// check is what a rule demands.
type check struct {
	allowed string                 // what is allowed, in words: "a number from -2 to 2"
	limit   string                 // the bound as one number, where there is just one
	find    func(*Request) offence // the first offender
}

// offence is the first offender against a rule; count 0 says that there is none.
type offence struct {
	given string   // what was given, fit for a message
	at    [2]int32 // its indices, where the rule's field has brackets
	count int      // how many offenders there are
}

// offends is an offence where no index is needed.
func offends(given string) offence { return offence{given: given, count: 1} }
