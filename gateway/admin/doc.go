// Package admin is the operator's listener: health, readiness, metrics, usage and, if switched on, profiles. It also has the
// forms in which usage is exported: the report of /usage, bills in the form of FOCUS, and texts of clients as cells that a
// spreadsheet does not run.
//
// The listener is for probes and people on the operator's network, not for teams: it is never mounted on the public one. It
// changes no state.
//
// It promises that probes are answered without a call over the network, so that they report only this process, and that no answer
// holds a secret, except profiles.
package admin
