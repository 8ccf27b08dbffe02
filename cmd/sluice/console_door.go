package main

import "strings"

// door says what happens if the console cannot listen at its address.
type door int

const (
	doorMayStayShut door = iota // there is no console, and a warning: a console by default must not stop a gateway
	doorMustOpen                // the process does not start
	doorMayMove                 // the system chooses another port
)

// consoleDoor is the door of an environment: whoever sets an address wants a console there.
func consoleDoor(environ []string) door {
	for _, assignment := range environ {
		if value, ok := strings.CutPrefix(assignment, prefix+"CONSOLE_LISTEN="); ok && value != "" {
			return doorMustOpen
		}
	}
	return doorMayStayShut
}
