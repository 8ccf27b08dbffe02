// Package policy reads requests: whose they are, what they ask for, and whether the service's own rules allow it.
//
// It is for judging: the teams file and its keys ([ParseTeams], [Teams.Lookup]), one strict pass over a request body
// ([Read]), and the service's rules as a table ([Judge]). It is not for acting: it performs no I/O, reads no clock and
// no environment, logs nothing and knows no HTTP types. What a team may still spend is package limit's question.
//
// It promises that equal input gives equal output, that a value it returned never changes, that everything wrong with
// an input is reported at once, and that no error text contains a secret.
package policy
