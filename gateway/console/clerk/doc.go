// Package clerk answers what the console's pages ask and what its interface for programs asks of figures: it puts together the
// teams of package registry and the numbers of package figures, and words their errors.
//
// It decides nothing about rights and keeps nothing. Both packages leave out what a person may not see.
package clerk
