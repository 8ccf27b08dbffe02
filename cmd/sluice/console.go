package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"sluice/cmd/sluice/redisclient"
	"sluice/gateway"
	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/gateway/oidc"
	"sluice/gateway/wire"
)

const (
	// consoleStreams is how many streams one HTTP/2 connection may have there. A browser loads a page with far fewer.
	consoleStreams = 32
	// consoleGrace is how long its requests have to end when the process stops.
	consoleGrace = 3 * time.Second
)

// consoleServer is a running console.
type consoleServer struct {
	listener net.Listener
	server   *http.Server
	access   *access.Control
	address  string // for the operator's browser
	unset    bool   // it is on loopback, and no setting says how to log in
	log      *slog.Logger
	halt     context.CancelFunc // ends streams
}

// openConsole builds the console, if there is a listener for it.
func (p *process) openConsole(ctx context.Context) {
	listener, logger := p.doors.console, p.log.Logger()
	if listener == nil {
		return
	}
	stopping, halt := context.WithCancel(context.WithoutCancel(ctx))
	teams, numbers := p.openRegistry(), p.openFigures()
	c := &consoleServer{
		listener: listener, access: access.New(p.accessDeps(teams)), address: p.consoleAddress(listener), log: logger, halt: halt,
		unset: p.ConsoleTokenFile == "" && p.OIDCIssuer == "" && p.ConsoleURL == "" && isLoopback(hostIn(p.ConsoleListen)),
	}
	proxies := prefixes(p.TrustedProxies)
	c.server = wire.NewServer(console.New(console.Deps{
		Access: c.access, URL: p.consoleURL(), Stopping: stopping, Log: logger,
		API: p.consoleAPI(teams, numbers), Pages: p.consolePages(teams, numbers), Assets: pages.Assets(), Templates: pages.Door(), Pictures: p.pictureSources(),
		Client:  func(r *http.Request) string { return gateway.ClientOf(r, proxies) },
		Hurried: p.bounds.add(console.PaceBound),
	}), logger)
	c.server.TLSConfig = p.tlsConfig()
	c.server.HTTP2.MaxConcurrentStreams = consoleStreams
	p.clients.Bound(c.server, wire.Config{Listener: "console", Most: consoleConnections, Proxies: proxies, Log: logger})
	forPeople(c.server)
	p.console = c
	p.works = append(p.works, c.run, func(ctx context.Context) { numbers.Run(redisclient.Aside(ctx)) })
}

// listenConsole opens the console's listener. It returns nil without an error if the console is off or left out.
func (p *process) listenConsole(ctx context.Context) (net.Listener, error) {
	if p.ConsoleListen == consoleOff {
		return nil, nil
	}
	listener, err := listen(ctx, prefix+"CONSOLE_LISTEN", p.ConsoleListen)
	switch {
	case err == nil || p.door == doorMustOpen:
		return listener, err
	case p.door == doorMayMove && errors.Is(err, syscall.EADDRINUSE):
		return listen(ctx, "the console", net.JoinHostPort(hostIn(p.ConsoleListen), "0"))
	}
	p.log.Logger().Warn("console", "warning", "there is no console: "+err.Error())
	return nil, nil
}

// accessDeps are what logins need, in Redis if the accounts are there.
func (p *process) accessDeps(audit *console.Registry) access.Deps {
	token := consoleToken{path: p.ConsoleTokenFile, log: p.log.Logger()}
	deps := access.Deps{
		Now: time.Now, Shared: access.NewMemory(time.Now), Teams: &p.inForce, Token: token.sha256, Log: p.log.Logger(),
		Groups: access.Groups{Operators: wordsOf(p.OIDCOperators), Viewers: wordsOf(p.OIDCViewers)},
		Ended: func(ctx context.Context, by access.Person, client string, s *access.Session) error {
			return audit.NoteEnded(ctx, access.Actor{Person: by, Address: client}, s)
		},
		Bounds: access.Bounds{
			Attempts: p.bounds.add("the console's wrong tokens, keys and links: 20 from one address, 100 for one account, in ten minutes"),
			Cookies:  p.bounds.add("the console's cookies of no session: 20 a minute from one address"),
			Logins:   p.bounds.add("the console's logins: 100 of one person in ten minutes"),
			SignOns:  p.bounds.add("the console's sign-ons: 300 begun from one address in ten minutes"),
		},
	}
	if p.redis != nil {
		deps.Shared, deps.Secret = access.NewRedis(p.redis, p.RedisTimeout), token.signing(p.OIDCClientSecret, &p.upstreamKey)
	}
	if p.OIDCIssuer != "" {
		deps.Issuer = oidc.NewClient(oidc.ClientConfig{
			URL: p.OIDCIssuer, ClientID: p.OIDCClientID, Secret: p.OIDCClientSecret.Reveal(), Redirect: string(p.ConsoleURL) + "/login/callback", Now: time.Now,
		})
	}
	return deps
}

// consoleAddress is where an operator's browser finds the console.
func (p *process) consoleAddress(listener net.Listener) string {
	switch {
	case p.ConsoleURL != "":
		return string(p.ConsoleURL)
	case p.certificate != nil:
		return "https://" + listener.Addr().String()
	}
	return "http://" + listener.Addr().String()
}

// run serves until ctx ends, and then lets requests end. A console that fails does not end the gateway.
func (c *consoleServer) run(ctx context.Context) {
	c.log.Info("console", "listen", c.listener.Addr().String(), "url", c.address)
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
	if err := c.serve(); !errors.Is(err, http.ErrServerClosed) {
		c.log.Error("console", "error", addressless(err).Error())
	}
	<-stopped
}

func (c *consoleServer) serve() error {
	if c.server.TLSConfig != nil {
		return c.server.ServeTLS(c.listener, "", "")
	}
	return c.server.Serve(c.listener)
}

// writeLink shows the operator a one-time link, if there is no other way to log in as one. It is never logged.
func (c *consoleServer) writeLink(w io.Writer) error {
	if c == nil || !c.unset {
		return nil
	}
	_, err := fmt.Fprintf(w, "# The console, for one login within ten minutes: %s/login?code=%s\n", c.address, c.access.NewLink())
	return err
}

// consoleState is the console's line in readiness.
func (p *process) consoleState() error {
	if p.console == nil && p.ConsoleListen != consoleOff {
		return errors.New("there is none, because its port was taken; set " + prefix + "CONSOLE_LISTEN")
	}
	return nil
}

// hostIn is the host of an address with a port.
func hostIn(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func wordsOf(list []member) []string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return words
}
