// Package upstream exchanges requests and answers with the service. It keeps the connections, writes requests, reads answers,
// and covers the service's key and address in them.
//
// It knows nothing of teams, tasks or limits; a [Listener] follows an exchange for the caller. It promises that no request is
// sent again once a byte of it has left, and that every exchange ends within its bounds.
package upstream
