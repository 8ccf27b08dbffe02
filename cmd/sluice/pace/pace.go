// Package pace sets how often the runtime collects garbage, by the memory that the process may use.
package pace

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// bounded is GOGC, in percent of the live heap, if a memory limit is known: near the limit the runtime collects more
	// often by itself.
	bounded = 400
	// free is GOGC without a limit.
	free = 200
)

// Pace are the settings of the garbage collector. Zero keeps the setting of the environment or the runtime.
type Pace struct {
	percent int
	limit   int64 // of the process's memory, in bytes
}

// For decides the pace. GOGC and GOMEMLIMIT take precedence. container is the container's memory limit in bytes; 0: no limit. A tenth
// of it is left for the binary, stacks and sockets, as in the chart.
func For(environ []string, container int64) (p Pace) {
	percent, limit := valueIn(environ, "GOGC"), valueIn(environ, "GOMEMLIMIT")
	if limit == "" {
		p.limit = container / 10 * 9
	}
	switch {
	case percent != "":
	case p.limit > 0, limit != "" && limit != "off":
		p.percent = bounded
	default:
		p.percent = free
	}
	return p
}

// Set puts the pace in force, and returns a function that restores the previous one.
func (p Pace) Set() (restore func()) {
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

// ContainerLimit returns the least memory limit of the process's control group (version 2) and its parents, in bytes; 0: no limit, or
// not readable. root is "" outside tests.
func ContainerLimit(root string) (least int64) {
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
