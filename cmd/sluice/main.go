// Command sluice runs the gateway, and the operator's tools around it: a demonstration, an upstream simulator, a check of the
// configuration, and keys for teams.
//
// This package handles flags, environment, files, signals and wiring. It decides nothing about requests.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"sluice/cmd/sluice/questions"
	"sluice/cmd/sluice/settings"
	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
		<-signals
		stop() // a clean stop
		<-signals
		os.Exit(exitFailure)
	}()
	environ := os.Environ()
	forgetSecrets()
	forgetProxies()
	os.Exit(run(ctx, program{environ, os.Stdout, os.Stderr}, os.Args[1:]))
}

// forgetSecrets removes the secrets from the process's environment once they are read, so that child processes and dumps do
// not have them. They stay in /proc/PID/environ: prefer the _FILE forms.
func forgetSecrets() {
	for _, name := range append([]string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}, settings.Secrets...) {
		_ = os.Unsetenv(name)
	}
}

// forgetProxies removes the environment's proxies, which libraries would use: the exporters of telemetry, and Go's default client. Only
// SLUICE_UPSTREAM_PROXY is a way out.
func forgetProxies() {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} { // all that net/http and gRPC read
		_ = os.Unsetenv(name)
		_ = os.Unsetenv(strings.ToLower(name))
	}
}

// commandLine has every command.
type commandLine struct {
	Serve     serveCommand       `cmd:"" default:"1" help:"Run the gateway, from the environment. The default."`
	Demo      demoCommand        `cmd:"" help:"Run simulator, gateway and two demo teams in this process, and print curl lines to try."`
	Simulate  simulateCommand    `cmd:"" help:"Run only the simulator of the service."`
	Check     checkCommand       `cmd:"" help:"Read settings and teams file, show them, and list every fault and warning."`
	Key       keyCommand         `cmd:"" help:"Mint a key for a team: prints it once, and the line for the teams file. Disable and enable one."`
	Team      teamCommand        `cmd:"" help:"List, show, change and remove teams of the directory, over the console."`
	Usage     usageCommand       `cmd:"" help:"Show what teams used, by day, model, endpoint and unit, from the ledger."`
	Raise     raiseCommand       `cmd:"" help:"Raise a quota of a team for a while, over the console."`
	Why       questions.Why      `cmd:"" help:"Say why a request was refused or failed, and what its client can do, over the console."`
	Search    questions.Search   `cmd:"" help:"Find a request, task, key, team, model or page by an id or a name, over the console."`
	Faults    questions.Faults   `cmd:"" help:"Show what is wrong, from the traffic of all replicas, over the console."`
	Latency   questions.Latency  `cmd:"" help:"Show percentiles of the service's time, the first byte, Sluice's own and tasks', over the console."`
	Limits    questions.Limits   `cmd:"" help:"Show the limit that each team is nearest, over the console."`
	Refusals  questions.Refusals `cmd:"" help:"Show what was refused lately, by reason, limit, rule or model, over the console."`
	Reconcile reconcileCommand   `cmd:"" help:"Lay the service's bill beside the ledger, by day, model and kind. Changes nothing."`
	Hook      hookCommand        `cmd:"" help:"Try the hooks of a team, or have an event delivered again."`
	Mirror    mirrorCommand      `cmd:"" help:"Compare a day's successes with the store of pictures."`
	Adjust    adjustCommand      `cmd:"" help:"Correct what a team used, with a reason that is kept. Needs Redis."`
	Directory directoryCommand   `cmd:"" help:"Export or import the teams that are changed at run time."`
	Audit     auditCommand       `cmd:"" help:"Show who changed the directory, and prove it."`
	Health    healthCommand      `cmd:"" help:"Ask the running gateway whether it is healthy, for a container's healthcheck."`
	Version   versionCommand     `cmd:"" help:"Show what this binary was built from."`
}

// run executes the command in the arguments and returns the exit code. It ends soon after ctx does.
func run(ctx context.Context, p program, args []string) int {
	var line commandLine
	helped := false
	parser := kong.Must(&line,
		kong.Name("sluice"),
		kong.Description("A gateway in front of a hosted model service. Settings are environment variables: see config.example.env."),
		kong.UsageOnError(), kong.Vars{"units": strictyaml.AnyOf(unit.Names[:])},
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(int) { helped = true }), // called only by --help; run returns then
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(p), kong.BindTo(p.stdout, (*io.Writer)(nil)), kong.BindToProvider(newConsoleClient),
	)
	command, err := parser.Parse(args)
	if helped {
		return exitClean
	}
	if err != nil {
		return report(p.stderr, badUsage{err})
	}
	return report(p.stderr, command.Run())
}
