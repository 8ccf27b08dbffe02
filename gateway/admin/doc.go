// Package admin is the operator's listener: health, readiness, metrics, usage and, if switched on, profiles.
//
// It is for probes and people on the operator's network, not for teams: it is never mounted on the public listener. It
// changes no state.
//
// It promises that probes are answered without a call over the network, so that they report this process alone, and
// that no answer holds a secret, except profiles.
package admin
