package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sluice/cmd/sluice/demo"
	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/mirror/store"
	"sluice/gateway/simulator"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy/event"
)

// demoCommand is sluice demo.
type demoCommand struct {
	Listen  string `default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Where to listen (${default}; another port if that one is taken)."`
	Hook    string `placeholder:"URL" help:"Where to deliver the ends of the demonstration's tasks, such as http://127.0.0.1:9000/. The secret that signs them is printed."`
	Traffic bool   `help:"Make up a month of use, and send requests of every kind, a few a second, until interrupted."`
}

// Run runs a gateway that needs no setup, with a simulated service and two teams, on loopback and in memory. Standard
// output can be pasted into a shell; the log goes to standard error.
func (d demoCommand) Run(ctx context.Context, p program) error {
	outliveReaders()
	service, err := listen(ctx, "the simulator", "127.0.0.1:0")
	if err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "sluice-demo-") // for the directory of teams, pictures and the hook's secret
	if err != nil {
		return errors.Join(err, service.Close())
	}
	defer func() { _ = os.RemoveAll(state) }()
	hook, err := d.hook(state)
	if err != nil {
		return errors.Join(err, service.Close())
	}
	teams, err := demo.MintTeams(hook)
	if err != nil {
		return errors.Join(err, service.Close())
	}
	c := demoConfiguration(teams, service.Addr(), d.freeAddress(ctx))
	var s start
	if d.Traffic {
		past := &demo.Clock{}
		c.clock, s.fill = past.Now, func(ctx context.Context, k *kept) error {
			return demo.MakePast(ctx, demo.Past{
				Teams: c.teams, Directory: directoryStore(c.Settings, nil), Balances: k.balances,
				Recent: k.collector, Clock: past,
			})
		}
	}
	begun := &untilServing{Writer: p.stderr, seen: make(chan struct{})}
	log := openLog(c.Settings, begun)
	defer closeLog(log)
	c.DirectoryFile = filepath.Join(state, "directory.json")
	if c.MirrorURL, err = store.ParseAddress("file://" + filepath.ToSlash(filepath.Join(state, "pictures"))); err != nil {
		return errors.Join(err, service.Close())
	}
	process, err := open(ctx, c, log, s)
	if err != nil {
		return errors.Join(err, service.Close())
	}
	var running sync.WaitGroup
	defer running.Wait()
	simulating, enough := context.WithCancel(context.WithoutCancel(ctx)) // the service outlives the gateway's stop
	defer enough()
	models := newSimulator(service.Addr(), simulator.Config{Keys: []string{c.UpstreamKey.Reveal()}, HeaderPrefix: c.HeaderPrefix})
	running.Go(func() {
		_ = serveUntil(simulating, wire.NewServer(models, slog.New(slog.DiscardHandler)), service)
	})

	base := "http://" + process.listeners.public.Addr().String() + "/api/v1"
	if err := errors.Join(hook.Write(p.stdout), demo.Write(p.stdout, base, teams)); err != nil {
		return err
	}
	busy, idle := context.WithCancel(ctx)
	defer idle()
	running.Go(func() { // writes the link after everything else, so that it stays in sight
		select {
		case <-begun.seen:
		case <-busy.Done():
			return
		}
		if process.console.writeLink(p.stdout) == nil && d.Traffic {
			demo.SendTraffic(busy, base, teams)
		}
	})
	go onEnter(os.Stdin, func() error { return process.console.writeLink(p.stdout) }) // not waited for: a read cannot be interrupted
	return process.serve(ctx)
}

// untilServing is the output of a log. It closes seen after the line that says that the process serves.
type untilServing struct {
	io.Writer
	once sync.Once
	seen chan struct{}
}

func (u *untilServing) Write(lines []byte) (int, error) {
	n, err := u.Writer.Write(lines)
	if bytes.Contains(lines, []byte(`"msg":"serving"`)) {
		u.once.Do(func() { close(u.seen) })
	}
	return n, err
}

// onEnter calls do for each line until the end of input or an error. The log of requests moves the first link out of sight, so Enter
// prints a new one.
func onEnter(in io.Reader, do func() error) {
	for lines := bufio.NewScanner(in); lines.Scan() && do() == nil; {
	}
}

// hook returns the hook for the ends of tasks, with a new secret in a file in the folder.
func (d demoCommand) hook(state string) (demo.Hook, error) {
	if d.Hook == "" {
		return demo.Hook{}, nil
	}
	if !event.IsHookURL(d.Hook, true) {
		return demo.Hook{}, badUsage{errors.New("--hook: allowed: an address such as http://127.0.0.1:9000/, without user and fragment")}
	}
	hook := demo.MintHook(d.Hook, filepath.Join(state, "hook-secret"))
	return hook, os.WriteFile(hook.Secret, hook.Content(), 0o600)
}

// freeAddress returns the address of --listen, or one with a system-chosen port if that is taken.
func (d demoCommand) freeAddress(ctx context.Context) string {
	listener, err := wire.Listen(ctx, d.Listen)
	if err == nil {
		_ = listener.Close()
		return d.Listen
	}
	host, _, split := net.SplitHostPort(d.Listen)
	if split != nil || !errors.Is(err, syscall.EADDRINUSE) {
		return d.Listen // open reports the error
	}
	return net.JoinHostPort(host, "0")
}

var loopback = settings.Network(netip.MustParsePrefix("127.0.0.0/8"))

// demoConfiguration returns the default configuration for a service at that address.
func demoConfiguration(t demo.Teams, service net.Addr, listen string) configuration {
	s, _ := settings.Load(nil) // its faults are the required settings, which are set here
	s.UpstreamURL = &url.URL{Scheme: "http", Host: service.String(), Path: "/api/v1"}
	s.UpstreamKey = upstream.Secret(rand.Text())
	s.Listen, s.AdminListen = listen, "127.0.0.1:0"
	s.ShutdownDelay, s.ShutdownGrace = 0, 5*time.Second // there is no balancer, and no stream takes longer
	s.ResultHosts, s.ResultNetworks = []upstream.Host{upstream.Host(service.String())}, []settings.Network{loopback}
	s.MirrorProxy, s.HookNetworks = true, []settings.Network{loopback}
	s.EmbeddingsPath = strings.TrimPrefix(demo.EmbeddingsPath, "/")
	s.PollInterval = 500 * time.Millisecond // a simulated task is over in seconds
	return configuration{Settings: s, teams: t.File, Upstream: files.Main(s.UpstreamURL, s.UpstreamKey), consoleMode: consoleMovable}
}
