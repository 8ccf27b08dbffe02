// Package admin is the operator's listener: health, readiness, usage and, when asked for, profiles.
//
// It is for probes and people on the operator's network. It is not for teams: nothing of it is ever mounted on the
// public listener, and nothing on it changes state.
//
// It promises that probes are answered without asking anything over a network, so that they tell of this process alone,
// and to show no secret outside a profile.
package admin
