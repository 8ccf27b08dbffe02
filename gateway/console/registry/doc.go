// Package registry is the teams, their keys and their audit as a [access.Person] may see and change them: those of the teams
// file and those of the directory as one list. The console's API and its pages use it.
//
// It decides who may do what, and keeps nothing but the directory's last document. Every error that a person may see is an
// [*Error]. To a member, a team that is not the member's does not exist.
package registry
