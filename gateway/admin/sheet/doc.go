// Package sheet writes the ledger for other programs: texts of clients as cells that a spreadsheet does not run, and bills in the form
// of FOCUS.
package sheet
