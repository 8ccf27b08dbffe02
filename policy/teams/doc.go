// Package teams reads the teams file: which teams there are, their keys, what each may use, and its limits.
//
// [Parse] reads a file and reports everything that is wrong with it at once; [File.Lookup] finds whose key was
// presented. It performs no I/O, reads no clock and no environment and logs nothing. What a team has left of its limits
// is in package limit.
//
// Equal input gives equal output, a returned value never changes, and no text of it contains a secret.
package teams
