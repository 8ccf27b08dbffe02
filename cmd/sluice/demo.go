package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sluice/gateway"
	"sluice/gateway/simulator"
	"sluice/gateway/upstream"
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
	var s start
	if d.Traffic {
		past := &pastClock{}
		c.clock, s.fill = past.now, func(ctx context.Context, k *kept) error { return makePast(ctx, c, k, past) }
	}
	log := openLog(c.settings, p.stderr)
	defer closeLog(log)
	state, err := os.MkdirTemp("", "sluice-demo-") // its directory of teams ends with it
	if err != nil {
		return errors.Join(err, service.Close())
	}
	defer func() { _ = os.RemoveAll(state) }()
	c.DirectoryFile = filepath.Join(state, "directory.json")
	process, err := open(ctx, c, log, s)
	if err != nil {
		return errors.Join(err, service.Close())
	}
	var running sync.WaitGroup
	defer running.Wait()
	simulating, enough := context.WithCancel(context.WithoutCancel(ctx)) // the service outlives the gateway's stop
	defer enough()
	simulator := newSimulator(service.Addr(), []string{c.UpstreamKey.Reveal()}, c.HeaderPrefix, nil)
	running.Go(func() {
		_ = serveUntil(simulating, wire.NewServer(simulator, slog.New(slog.DiscardHandler)), service)
	})

	base := "http://" + process.listeners.public.Addr().String() + "/api/v1"
	if err := errors.Join(process.console.writeLink(p.stdout), writeDemo(p.stdout, base, teams)); err != nil {
		return err
	}
	if d.Traffic {
		running.Go(func() { sendTraffic(ctx, base, teams) })
	}
	return process.serve(ctx)
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

// demoHouse is the part of the demonstration's teams file before its teams.
const demoHouse = `currency: CNY
catalogue: [llm-plus, llm-max, llm-image-2.0, gen2.5-t2i, gen2.6-image]
prices:
  - {model: "gen*", image: 0.20, images: [{up_to_pixels: 1048576, image: 0.14}]}
  - {model: "llm-image*", image: 0.25, images: [{up_to_pixels: 1048576, image: 0.20}]}
  - {model: "llm-max", input_per_million: 2.4, output_per_million: 9.6, cached_per_million: 0.48, explicit_cached_per_million: 0.24,
     above: [{input: 32000, input_per_million: 4, output_per_million: 16, cached_per_million: 0.8}]}
  - {model: "*", input_per_million: 0.8, output_per_million: 2.0, thinking_per_million: 8, cached_per_million: 0.16}
teams:
`

// demoTeams are the teams of the demonstration, with new keys.
type demoTeams struct {
	file        *teams.File
	search, ads gateway.Secret
}

func mintDemoTeams() (demoTeams, error) {
	search, err := teams.MintKey(rand.Reader)
	ads, bad := teams.MintKey(rand.Reader)
	file, worse := teams.Parse([]byte(demoHouse +
		"  - id: search\n    description: Search in the shop\n    quotas: {images: {day: 50000}, spend: {month: 200000}}\n    keys:\n" + search.Lines() +
		"  - id: ads\n    description: Texts and pictures for ads\n    rates: {requests: {per: 1m, limit: 600}}\n    models: [\"llm-*\"]\n    keys:\n" + ads.Lines()))
	if err := errors.Join(err, bad, worse); err != nil {
		return demoTeams{}, fmt.Errorf("the demonstration's teams: %w", err)
	}
	return demoTeams{file, gateway.Secret(search.Reveal()), gateway.Secret(ads.Reveal())}, nil
}

var loopback = network(netip.MustParsePrefix("127.0.0.0/8"))

// configuration returns the default one, for a service at that address.
func (t demoTeams) configuration(service net.Addr, listen string) configuration {
	s, _ := loadSettings(nil) // its faults are the required settings, which are set here
	s.UpstreamURL = &url.URL{Scheme: "http", Host: service.String(), Path: "/api/v1"}
	s.UpstreamKey = gateway.Secret(rand.Text())
	s.Listen, s.AdminListen = listen, "127.0.0.1:0"
	s.ShutdownDelay, s.ShutdownGrace = 0, 5*time.Second // there is no balancer, and no stream takes longer
	s.ResultHosts, s.ResultNetworks = []upstream.Host{upstream.Host(service.String())}, []network{loopback}
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

// step is one line of the demonstration, for a POSIX shell with curl, grep and sed.
type step struct{ about, line string }

// demoSteps are the lines in order; those with $TASK depend on the one that sets it. The comments have no quotes and brackets,
// because an interactive shell may not know comments.
func demoSteps(base string, teams demoTeams) []step {
	task := line(quiet, teams.search, base+"/tasks/$TASK")
	return []step{
		{"Text, with the key of team search.", post(quiet, teams.search, base+textPath, demoText)},
		{"The same as a stream.", post("curl -sN -H 'X-Service-SSE: enable'", teams.search, base+textPath, demoStream)},
		{"A synchronous image: the answer holds its address, to open in a browser.", post(quiet, teams.search, base+multimodalPath, demoPicture)},
		{"An asynchronous image task: created,", "TASK=$(" + post(quiet+async, teams.search, base+imagePath, demoEdit) +
			` | sed 's/.*"task_id":"\([^"]*\)".*/\1/'); echo "$TASK"`},
		{"polled to its end, which takes some 4 seconds,", "until " + task +
			` | grep -oE '"task_status":"[A-Z]+"' | tee /dev/stderr | grep -qE 'SUCCEEDED|FAILED'; do sleep 1; done`},
		{"and its images.", task},
		{"To another team the task does not exist: 404.", line(quiet+" -i", teams.ads, base+"/tasks/$TASK")},
		{"Team ads may not use that model: 403.", post(quiet+" -i"+async, teams.ads, base+imagePath, demoEdit)},
		{"A wrong key: 401.", line(quiet+" -i", "slk_wrong", base+"/tasks")},
	}
}

// How the lines call curl: without its progress bar, and with a line end behind the body.
const (
	quiet = `curl -s -w '\n'`
	async = " -H 'X-Service-Async: enable'"
)

// Paths of the service, behind the version prefix.
const (
	textPath       = "/services/aigc/text-generation/generation"
	multimodalPath = "/services/aigc/multimodal-generation/generation"
	imagePath      = "/services/aigc/image-generation/generation"
)

// Bodies of the demonstration.
const (
	demoText    = `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"What is a sluice?"}]},"parameters":{"result_format":"message"}}`
	demoStream  = `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"What is a sluice?"}]},"parameters":{"result_format":"message","incremental_output":true}}`
	demoPicture = `{"model":"llm-image-2.0","input":{"messages":[{"role":"user","content":[{"text":"A mill by a river"}]}]},"parameters":{"size":"1024*768"}}`
	demoEdit    = `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"The same mill in winter"},{"image":"https://pictures.example/mill.png"}]}]},"parameters":{"n":2,"size":"1280*720"}}`
)

// line is a curl call with a key, which exists in this demonstration only.
func line(curl string, key gateway.Secret, url string) string {
	return strings.Join([]string{curl, url, "-H 'Authorization: Bearer " + key.Reveal() + "'"}, " ")
}

func post(curl string, key gateway.Secret, url, body string) string {
	return line(curl, key, url) + " -H 'Content-Type: application/json' -d '" + body + "'"
}

// demoPython are five lines for OpenAI's library for Python, each a statement that can also be typed to Python.
func demoPython(base, key string) string {
	return `from openai import OpenAI
client = OpenAI(base_url="` + base + `", api_key="` + key + `")
chat = client.chat.completions.create(model="llm-plus", messages=[{"role": "user", "content": "What is a sluice?"}])
picture = client.images.generate(model="gen2.5-t2i", prompt="A mill in winter", n=1)
print(chat.choices[0].message.content, picture.data[0].url, sep="\n")
`
}

// The simulator's pace: slow enough to see a task in every state and a stream's frames arrive.
const (
	simulatedPending = 1 * time.Second
	simulatedRunning = 3 * time.Second
	simulatedFrame   = 120 * time.Millisecond
)

// simulateCommand is sluice simulate.
type simulateCommand struct {
	Listen string   `default:"127.0.0.1:9000" placeholder:"ADDRESS" help:"Where to listen (${default})."`
	Key    []string `placeholder:"K" help:"A key that is accepted; may be repeated. None: any key is."`
	Prefix string   `name:"header-prefix" default:"X-Service-" placeholder:"WORD" help:"The word in the service's header names, as in SLUICE_HEADER_PREFIX (${default})."`
}

// Run simulates the service until it is stopped.
func (s simulateCommand) Run(ctx context.Context, p program) error {
	listener, err := listen(ctx, "--listen", s.Listen)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.stderr, nil))
	service := newSimulator(listener.Addr(), s.Key, s.Prefix, func(format string, args ...any) {
		log.Info("request", "line", fmt.Sprintf(format, args...))
	})
	if _, err := fmt.Fprintf(p.stdout, "http://%s/api/v1\n", listener.Addr()); err != nil {
		return err
	}
	return serveUntil(ctx, wire.NewServer(service, log), listener)
}

func newSimulator(address net.Addr, keys []string, prefix string, log func(format string, args ...any)) *simulator.Simulator {
	return simulator.New(simulator.Config{
		Keys: keys, HeaderPrefix: prefix, BaseURL: "http://" + address.String(), Log: log,
		Pending: simulatedPending, Running: simulatedRunning, FrameDelay: simulatedFrame,
	})
}

// serveUntil serves until ctx ends and then cuts running requests.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener) error {
	cut := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer cut()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}
