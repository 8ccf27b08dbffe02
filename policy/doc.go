// Package policy reads requests and says whether the service's own rules allow them.
//
// It reads a request body in one strict pass ([Read]) and judges it by the service's rules, which are a table ([Judge]).
// Comments cite interface.md, the service's description of its requests, which is kept outside the repository.
//
// It performs no I/O, reads no clock and no environment, logs nothing and knows no HTTP types. Whose a request is, and
// what a team may do, is in package teams; what a team may still spend, in package limit.
//
// Equal input gives equal output, a returned value never changes, and everything wrong with an input is reported at once.
package policy
