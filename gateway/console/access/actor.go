package access

import "net"

// Actor is a person who changes something, for the audit.
type Actor struct {
	Person
	Address string // of the client; one line
	Reason  string // why, as the person gave it; may be empty
}

// By is the actor of a request that comes from an address, with or without a port.
func (p Person) By(address, reason string) Actor {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	return Actor{p, address, reason}
}
