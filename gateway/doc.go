// Package gateway is Sluice's public side: the routes, the stages a request passes, and the way to the service.
//
// It is for joining: it asks package policy whose a request is and whether it may pass, package cache whose a task is,
// and package telemetry what an answer used, and carries bytes between a team and the service. It is not for deciding
// any of that itself, and it reads no environment, no file and no Redis. gateway.go is the page to read first.
//
// It promises that accepted bodies and successful answers pass byte for byte; that no request is sent to the service
// twice once a byte of it has left; that the service's key goes to the service alone; that nothing the service says of
// one team's task reaches another team; and that every request ends, is recorded once, and is answered in the
// service's own form.
package gateway
