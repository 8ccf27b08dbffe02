package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

	"sluice/gateway"
	"sluice/gateway/fetch"
	"sluice/gateway/wire"
	"sluice/policy/teams"
)

// demoCommand is sluice demo.
type demoCommand struct {
	Listen  string `default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Where to listen (${default}; another port if that one is taken)."`
	Traffic bool   `help:"Make up a month of use, and send requests of every kind, a few a second, until interrupted."`
}

// Run runs a gateway that needs no setup, with a simulated service and two teams, on loopback and in memory. Standard
// output can be pasted into a shell; the log goes to standard error.
func (d demoCommand) Run(ctx context.Context, p program) error {
	service, err := listen(ctx, "the simulator", "127.0.0.1:0")
	if err != nil {
		return err
	}
	teams, err := mintDemoTeams()
	if err != nil {
		return errors.Join(err, service.Close())
	}
	c := teams.configuration(service.Addr(), d.freeAddress(ctx))
	past := &pastClock{}
	c.clock = past.now
	log := openLog(c.settings, p.stderr)
	defer closeLog(log)
	forget, err := c.keepDirectory()
	if err != nil {
		return errors.Join(err, service.Close())
	}
	defer forget()
	process, err := open(ctx, c, log)
	if err != nil {
		return errors.Join(err, service.Close())
	}
	if d.Traffic {
		if err := process.makePast(ctx, past); err != nil {
			return errors.Join(err, service.Close())
		}
	}
	process.openDirectory(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	simulating, enough := context.WithCancel(context.WithoutCancel(ctx)) // the service outlives the gateway's stop
	defer enough()
	simulator := newSimulator(service.Addr(), []string{c.UpstreamKey.Reveal()}, c.HeaderPrefix, nil)
	running.Go(func() {
		_ = serveUntil(simulating, wire.NewServer(simulator, slog.New(slog.DiscardHandler)), service)
	})

	base := "http://" + process.doors.public.Addr().String() + "/api/v1"
	if err := errors.Join(process.console.writeLink(p.stdout), writeDemo(p.stdout, base, teams)); err != nil {
		return err
	}
	if d.Traffic {
		running.Go(func() { sendTraffic(ctx, base, teams) })
	}
	return process.serve(ctx)
}

// keepDirectory gives the demonstration a directory of teams that ends with it.
func (c *configuration) keepDirectory() (forget func(), err error) {
	path, err := os.MkdirTemp("", "sluice-demo-")
	c.DirectoryFile = filepath.Join(path, "directory.json")
	return func() { _ = os.RemoveAll(path) }, err
}

// freeAddress is the address of --listen, or one with a port of the system's choice if that one is taken.
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

// demoHouse is the teams file of the demonstration up to its teams.
const demoHouse = `currency: CNY
catalogue: [llm-plus, llm-max, llm-image-2.0, gen2.5-t2i, gen2.6-image]
prices:
  - {model: "gen*", image: 0.20}
  - {model: "llm-image*", image: 0.25}
  - {model: "llm-max", input_per_million: 2.4, output_per_million: 9.6}
  - {model: "*", input_per_million: 0.8, output_per_million: 2.0}
teams:
`

// demoTeams are the teams of the demonstration, with new keys.
type demoTeams struct {
	file        *teams.File
	search, ads gateway.Secret
}

func mintDemoTeams() (demoTeams, error) {
	search, err := teams.MintKey(rand.Reader)
	if err != nil {
		return demoTeams{}, err
	}
	ads, err := teams.MintKey(rand.Reader)
	if err != nil {
		return demoTeams{}, err
	}
	file, err := teams.Parse([]byte(demoHouse +
		"  - id: search\n    description: Search in the shop\n    quotas: {images: {day: 50000}, spend: {month: 200000}}\n    keys:\n" + search.Lines() +
		"  - id: ads\n    description: Texts and pictures for ads\n    rates: {requests: {per: 1m, limit: 600}}\n    models: [\"llm-*\"]\n    keys:\n" + ads.Lines()))
	if err != nil {
		return demoTeams{}, fmt.Errorf("the demonstration's teams: %w", err)
	}
	return demoTeams{file, gateway.Secret(search.Reveal()), gateway.Secret(ads.Reveal())}, nil
}

var loopback = network(netip.MustParsePrefix("127.0.0.0/8"))

// configuration is the default one, for a service at that address.
func (t demoTeams) configuration(service net.Addr, listen string) configuration {
	s, _ := loadSettings(nil) // its faults are the required settings, which are set here
	s.UpstreamURL = &url.URL{Scheme: "http", Host: service.String(), Path: "/api/v1"}
	s.UpstreamKey = gateway.Secret(rand.Text())
	s.Listen, s.AdminListen = listen, "127.0.0.1:0"
	s.ShutdownDelay, s.ShutdownGrace = 0, 5*time.Second // there is no balancer, and no stream takes longer
	s.ResultHosts, s.ResultNetworks = []fetch.Host{fetch.Host(service.String())}, []network{loopback}
	s.PollInterval = 500 * time.Millisecond // a simulated task is over in seconds
	return configuration{settings: s, teams: t.file, door: doorMayMove}
}

// writeDemo writes the lines to paste.
func writeDemo(w io.Writer, base string, teams demoTeams) error {
	var text strings.Builder
	text.WriteString("# Sluice is at " + base + " until Ctrl-C. These lines can be pasted into another terminal.\n")
	for _, step := range demoSteps(base, teams) {
		text.WriteString("\n# " + step.about + "\n" + step.line + "\n")
	}
	text.WriteString("\n# With OpenAI's library for Python, after pip install openai. The lines inside can be pasted into Python, too.\n" +
		"python3 - <<'END'\n" + demoPython(strings.TrimSuffix(base, "/api/v1")+"/v1", teams.search.Reveal()) + "END\n")
	_, err := io.WriteString(w, text.String())
	return err
}
