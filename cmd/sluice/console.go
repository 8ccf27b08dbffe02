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
	"strings"
	"time"

	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/gateway"
	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/gateway/oidc"
	"sluice/gateway/wire"
	"sluice/policy/teams"
	"sluice/telemetry/pulse"
)

const (
	// consoleStreams bounds the streams of one HTTP/2 connection. A browser loads a page with far fewer.
	consoleStreams = 32
	// consoleGrace is how long the console's requests have to end when the process stops.
	consoleGrace = 3 * time.Second
	// leastLate is how long after a day its requests may still be charged; its tasks may be charged even later.
	leastLate = 49 * time.Hour
)

// consoleParts are the parts of the process that the console shows and changes.
type consoleParts struct {
	configuration
	listener  net.Listener
	kept      *kept
	gateway   *gateway.Gateway
	force     *inForce
	directory *directory
	checks    []admin.Check
	bounds    *bounds
	pulse     *pulse.Ring
	hooks     func() map[string]time.Duration
	log       *slog.Logger
}

// consoleServer is a running console.
type consoleServer struct {
	listener   net.Listener
	server     *http.Server
	api, pages http.Handler // served to logged-in clients
	access     *access.Control
	address    string // for the operator's browser
	byLink     bool   // operators log in by a one-time link
	log        *slog.Logger
	halt       context.CancelFunc // ends streams
	background []func(context.Context)
}

// newConsole builds the console. Its background functions run it.
func newConsole(ctx context.Context, p consoleParts) *consoleServer {
	stopping, halt := context.WithCancel(context.WithoutCancel(ctx))
	registry, numbers := p.registry(), p.figures()
	byLink, _ := p.OperatorsEnter()
	c := &consoleServer{
		listener: p.listener, access: access.New(p.access(registry)), address: p.address(), log: p.log, halt: halt, byLink: byLink,
		api: console.NewAPI(console.APIDeps{
			Registry: registry, Ledger: p.kept.balances, Traffic: numbers, Currency: p.gateway.Currency,
			Now: time.Now, Log: p.log,
		}),
		pages: pages.New(pages.Deps{
			Teams: registry, Raises: registry.Raises, Figures: numbers, Config: p.shown, Modes: p.Rules, Prefix: p.HeaderPrefix,
			Currency: p.gateway.Currency, Now: time.Now, Gateway: p.publicAddress, Settled: p.directory.watch.settled,
			File:     p.force.file.Load,
			TraceURL: string(p.TraceURLTemplate), Provider: p.ProviderName, Crowded: p.bounds.add(pages.LiveBound),
		}),
	}
	proxies := settings.Prefixes(p.TrustedProxies)
	c.server = wire.NewServer(console.New(console.Deps{
		Access: c.access, URL: p.ConsoleAddress(), Stopping: stopping, Log: p.log,
		API: c.api, Pages: c.pages, Assets: pages.Assets(), Templates: pages.LoginTemplates(), Pictures: wordsOf(p.ResultHosts),
		Client:  func(r *http.Request) string { return wire.ClientOf(r, proxies) },
		Hurried: p.bounds.add(console.PaceBound),
	}), p.log)
	c.server.TLSConfig = p.tlsConfig()
	c.server.HTTP2.MaxConcurrentStreams = consoleStreams
	forPeople(c.server)
	c.background = []func(context.Context){c.run, func(ctx context.Context) { numbers.Run(redisclient.Aside(ctx)) }}
	return c
}

// registry returns the console's registry of teams.
func (p consoleParts) registry() *console.Registry {
	return console.NewRegistry(console.RegistryDeps{
		Directory: p.directory.store, File: p.force.file.Load, Balances: p.kept.balances, Tasks: consoleTasks{p.gateway},
		Standings: p.gateway.Standings, Now: time.Now, Random: rand.Reader,
		InForce: func() teams.State {
			s, _, _ := p.directory.joined.InForce()
			return s
		},
		PaceReached: p.bounds.add(console.ChangesBound), AuditReached: p.bounds.add(console.AuditBound),
	})
}

// figures returns the console's figures of traffic, limits, money and tasks.
func (p consoleParts) figures() *figures.Figures {
	deps := figures.Deps{
		Teams: p.force.file.Load, Balances: p.kept.balances, Recent: p.kept.recent, Tasks: p.kept.claims, Outbox: p.kept.outbox,
		Running: p.gateway.InFlight, Standings: p.gateway.Standings, House: p.kept.ledger, Days: new(figures.MemorySums),
		Pulse: p.pulse.Fault, Hooks: p.hooks, Queued: p.bounds.add(figures.ReadingBound), Late: max(leastLate, p.TaskTTL+2*time.Hour),
		Now: time.Now,
		Panicked: func(fault any, stack string) {
			p.log.Error("panic", "work", "sums of past days", "panic", fault, "stack", stack)
		},
		Faults: func() (list []figures.Fault) { // the lines of readiness that are not ok
			for _, check := range p.checks {
				if err := check.State(); err != nil && check.Name != serviceCheck {
					list = append(list, figures.Fault{Subject: check.Name, Text: err.Error()})
				}
			}
			return list
		},
	}
	if p.kept.redis != nil {
		deps.Days = figures.NewRedisSums(p.kept.redis)
	}
	return figures.New(deps)
}

// access returns the dependencies of logins, in Redis if the accounts are there.
func (p consoleParts) access(audit *console.Registry) access.Deps {
	token := consoleToken{path: p.ConsoleTokenFile, log: p.log}
	deps := access.Deps{
		Now: time.Now, Shared: access.NewMemory(time.Now), Teams: p.force, Token: token.sha256, Log: p.log,
		Groups: access.Groups{Operators: wordsOf(p.OIDCOperators), Viewers: wordsOf(p.OIDCViewers)},
		Ended: func(ctx context.Context, by access.Person, client string, s *access.Session) error {
			return audit.NoteEnded(ctx, access.Actor{Person: by, Address: client}, s)
		},
		Bounds: access.Bounds{
			Attempts: p.bounds.add("the console's wrong tokens, keys and links: 20 from one address, 100 for one account, in ten minutes"),
			Cookies:  p.bounds.add("the console's cookies without a session: 20 a minute from one address"),
			Logins:   p.bounds.add("the console's logins: 100 of one person in ten minutes"),
			SignOns:  p.bounds.add("the console's sign-ons: 300 begun from one address in ten minutes"),
		},
	}
	secret := rereading(p.OIDCClientSecretFile, p.OIDCClientSecret)
	if p.kept.redis != nil {
		deps.Shared, deps.Secret = access.NewRedis(p.kept.redis, p.RedisTimeout), token.signing(secret, &p.force.key)
	}
	if p.OIDCIssuer != "" {
		deps.Issuer = oidc.NewClient(oidc.ClientConfig{
			URL: p.OIDCIssuer, ClientID: p.OIDCClientID, Secret: func() string { return secret().Reveal() },
			Redirect: string(p.ConsoleURL) + "/login/callback", Now: time.Now, Trip: p.tunnel().Transport(),
		})
	}
	return deps
}

// shown returns the settings as sluice check prints them.
func (p consoleParts) shown() pages.Config {
	out := pages.Config{Version: readBuild().version, Warnings: p.warnings}
	empty, _ := settings.Load(nil) // its faults are the required settings
	values, defaults := p.Values(), empty.Values()
	for _, name := range settings.Names {
		out.Settings = append(out.Settings, pages.Setting{Name: name, Value: values[name], Set: values[name] != defaults[name]})
	}
	return out
}

// publicAddress returns the gateway's address for programs. Without PUBLIC_URL and a host in LISTEN it has the host at which a person
// reached the console.
func (p consoleParts) publicAddress(host string) string {
	if p.PublicURL != "" {
		return string(p.PublicURL)
	}
	scheme := "http://"
	if p.certificate != nil {
		scheme = "https://"
	}
	at, port, _ := net.SplitHostPort(p.Listen) // validated
	if ip := net.ParseIP(at); at == "" || ip != nil && ip.IsUnspecified() {
		if at = host; strings.Contains(host, ":") {
			at, _, _ = net.SplitHostPort(host)
		}
	}
	return scheme + net.JoinHostPort(at, port)
}

// address returns the console's address for an operator's browser.
func (p consoleParts) address() string {
	switch {
	case p.ConsoleURL != "":
		return string(p.ConsoleURL)
	case p.certificate != nil:
		return "https://" + p.listener.Addr().String()
	}
	return "http://" + p.listener.Addr().String()
}

// logAddress logs the console's addresses.
func (c *consoleServer) logAddress() {
	if c != nil {
		c.log.Info("console", "listen", c.listener.Addr().String(), "url", c.address)
	}
}

// run serves until ctx ends, and then lets requests end. A console that fails does not end the gateway.
func (c *consoleServer) run(ctx context.Context) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		c.halt()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), consoleGrace)
		defer cancel()
		if c.server.Shutdown(grace) != nil {
			_ = c.server.Close()
		}
	}()
	if err := serveOn(c.server, c.listener); !errors.Is(err, http.ErrServerClosed) {
		c.log.Error("console", "error", addressless(err).Error())
	}
	<-stopped
}

// writeLink prints a one-time link for the operator if no login is configured. The link is never logged.
func (c *consoleServer) writeLink(w io.Writer) error {
	if c == nil || !c.byLink {
		return nil
	}
	_, err := fmt.Fprintf(w, "# The console, for one login within ten minutes: %s/login?code=%s\n", c.address, c.access.NewLink())
	return err
}

// consoleTasks cancels tasks for the console.
type consoleTasks struct{ gateway *gateway.Gateway }

// Has implements [console.Tasks].
func (c consoleTasks) Has(ctx context.Context, team, task string) (bool, error) {
	return c.gateway.HasTask(ctx, team, task)
}

// Cancel implements [console.Tasks].
func (c consoleTasks) Cancel(ctx context.Context, team, task string) error {
	return cancelError(c.gateway.CancelTask(ctx, team, task))
}

// cancelError turns the error of a cancel into a [teams.Problem]. It returns other errors unchanged; then the service may have accepted
// the cancel.
func cancelError(err error) error {
	switch {
	case errors.Is(err, gateway.ErrNoTask):
		return &teams.Problem{Code: teams.CodeMissing, Field: "task", Text: "the team has no such task", Advice: "look at the team's tasks"}
	case errors.Is(err, gateway.ErrNoCancel):
		return &teams.Problem{
			Code: teams.CodeConflict, Field: "task", Text: "the service did not take the cancel", Allowed: "a task that waits",
			Advice: "look at the task's state",
		}
	case errors.Is(err, gateway.ErrCancelRate):
		return teams.Away("the service takes no more cancels at the moment, and this one was not sent", err)
	}
	return err
}
