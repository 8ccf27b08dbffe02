// Package gateway is Sluice's public side: the routes, the stages a request passes, and the way to the service.
//
// It joins the other packages: policy judges requests, policy/limit admits and charges them, cache and gateway/tasks know
// tasks, gateway/upstream exchanges bytes with the service, and telemetry reads what an answer used. It decides none of that
// itself, and reads no environment, no file and no Redis. Read gateway.go first.
//
// It promises that accepted bodies and successful answers pass byte for byte; that no request is sent again once a byte of it
// has left; that the service's key goes to the service alone; that a team never sees another team's tasks; and that every
// request ends, is recorded once, and is answered in the service's own form.
package gateway
