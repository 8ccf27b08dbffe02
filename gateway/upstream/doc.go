// Package upstream makes the exchanges with the one service: connections and their pool, the request as it is written, the
// answer as it is read, and what of it no team may see: the service's key and address.
//
// It knows nothing of teams, tasks or limits: a [Listener] follows an exchange for who does. It promises that no request is
// sent twice once a byte of it has left, that every exchange ends within its bounds, and that the key is written nowhere but
// into the request.
package upstream
