// Package process starts the measured programs, each on its core, and reads the kernel's figures of them. It is for Linux.
package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a running program with its children.
type Process struct {
	Address string // where it listens
	cmd     *exec.Cmd
	ended   chan struct{}
}

// Config says what to start.
type Config struct {
	Command []string // without taskset
	Core    string   // what taskset takes
	Log     string   // the file for its output; truncated first
	Address string   // where it will listen
	Env     []string // additional environment variables
}

// Start starts a program and waits until it listens.
func Start(ctx context.Context, config Config) (*Process, error) {
	log, err := os.Create(config.Log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", config.Core},
		config.Command...)...) //nolint:gosec // the benchmark starts its own programs
	cmd.Env = append(os.Environ(), config.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	// The group is for children; the signal is for when this process is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{Address: config.Address, cmd: cmd, ended: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(p.ended) }()
	if err := p.listens(ctx); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(config.Command[0]), err, tail(config.Log))
	}
	return p, nil
}

func (p *Process) listens(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // LiteLLM takes half of one
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.Address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.ended:
			return fmt.Errorf("ended before it listened")
		case <-ctx.Done():
			return fmt.Errorf("does not listen: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends the program and its children.
func (p *Process) Stop() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(time.Second): // open streams keep some alive
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
}

// tail is the end of a log.
func tail(name string) string {
	text, _ := os.ReadFile(name)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
