package main

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// paceBounded is GOGC, in percent of the live heap, if a memory limit is known: near the limit the runtime collects more
	// often by itself.
	paceBounded = 400
	// paceFree is GOGC without a limit.
	paceFree = 200
)

// pace is how the runtime collects garbage. Zero keeps the setting of the environment or the runtime.
type pace struct {
	percent int
	limit   int64 // of the process's memory, in bytes
}

// paceFor decides the pace. GOGC and GOMEMLIMIT win. container is the container's memory limit in bytes; 0: no limit. A tenth of
// it is left for the binary, stacks and sockets, as in the chart.
func paceFor(environ []string, container int64) (p pace) {
	percent, limit := valueIn(environ, "GOGC"), valueIn(environ, "GOMEMLIMIT")
	if limit == "" {
		p.limit = container / 10 * 9
	}
	switch {
	case percent != "":
	case p.limit > 0, limit != "" && limit != "off":
		p.percent = paceBounded
	default:
		p.percent = paceFree
	}
	return p
}

// set puts the pace in force, and returns a function that restores the previous one.
func (p pace) set() (restore func()) {
	percent, limit := -1, int64(math.MaxInt64)
	if p.percent > 0 {
		percent = debug.SetGCPercent(p.percent)
	}
	if p.limit > 0 {
		limit = debug.SetMemoryLimit(p.limit)
	}
	return func() {
		if p.percent > 0 {
			debug.SetGCPercent(percent)
		}
		if p.limit > 0 {
			debug.SetMemoryLimit(limit)
		}
	}
}

func valueIn(environ []string, name string) string {
	for _, assignment := range environ {
		if value, ok := strings.CutPrefix(assignment, name+"="); ok {
			return value
		}
	}
	return ""
}

// containerLimit is the least memory limit of the process's control group (version 2) and those above it, in bytes; 0: no limit,
// or not readable. root is "" outside tests.
func containerLimit(root string) (least int64) {
	groups, _ := os.ReadFile(root + "/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		for at := path.Clean("/" + group); ok; at = path.Dir(at) {
			text, _ := os.ReadFile(root + "/sys/fs/cgroup" + at + "/memory.max")
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && (least == 0 || n < least) {
				least = n
			}
			ok = at != "/"
		}
	}
	return least
}
