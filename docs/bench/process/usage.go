package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU returns the CPU time of the program and its children, from the scheduler's nanoseconds. Ended threads are missing; the
// programs measured here keep theirs.
func (p *Process) CPU() (total time.Duration) {
	for _, pid := range p.pids() {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			first, _, _ := strings.Cut(string(text), " ")
			nanoseconds, _ := strconv.ParseInt(first, 10, 64)
			total += time.Duration(nanoseconds)
		}
	}
	return total
}

// Wakes returns how often the program's threads have gone to sleep, and so how often they were woken.
func (p *Process) Wakes() (total int64) {
	for _, pid := range p.pids() {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			_, rest, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
			if fields := strings.Fields(rest); len(fields) > 0 {
				n, _ := strconv.ParseInt(fields[0], 10, 64)
				total += n
			}
		}
	}
	return total
}

// Memory returns the resident memory of the program and its children, and its peak since the start, in bytes. Pages that they
// share are counted for each.
func (p *Process) Memory() (now, most int64) {
	for _, pid := range p.pids() {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		now += kilobytes(string(text), "VmRSS:")
		most += kilobytes(string(text), "VmHWM:")
	}
	return now, most
}

func kilobytes(status, name string) int64 {
	_, rest, _ := strings.Cut(status, name)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n << 10
}

// pids returns the processes of the program's group: itself and its children.
func (p *Process) pids() (all []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(text), ") ") // after the name: state, parent, group
		fields := strings.Fields(rest)
		if len(fields) > 2 && fields[2] == strconv.Itoa(p.cmd.Process.Pid) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			all = append(all, pid)
		}
	}
	return all
}
