package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/wire"
)

// listeners are the process's listeners.
type listeners struct {
	public  *acceptor
	admin   net.Listener
	console net.Listener // nil: no console
}

// openListeners opens all listeners, or none.
func openListeners(ctx context.Context, c configuration, log *slog.Logger) (l listeners, err error) {
	public, err := listen(ctx, settings.Prefix+"LISTEN", c.Listen)
	if err != nil {
		return l, err
	}
	l.public = &acceptor{Listener: public, log: log}
	if l.admin, err = listen(ctx, settings.Prefix+"ADMIN_LISTEN", c.AdminListen); err == nil {
		l.console, err = listenConsole(ctx, c, log)
	}
	if err != nil {
		l.close()
		return listeners{}, err
	}
	return l, nil
}

// close closes the listeners if the process fails to start.
func (l listeners) close() {
	if l.public == nil {
		return
	}
	for _, one := range []net.Listener{l.public, l.admin, l.console} {
		if one != nil {
			_ = one.Close()
		}
	}
}

// listenConsole opens the console's listener. It returns nil without an error if the console is off or left out.
func listenConsole(ctx context.Context, c configuration, log *slog.Logger) (net.Listener, error) {
	if c.ConsoleListen == settings.ConsoleOff {
		return nil, nil
	}
	listener, err := listen(ctx, settings.Prefix+"CONSOLE_LISTEN", c.ConsoleListen)
	switch {
	case err == nil || c.consoleMode == consoleRequired:
		return listener, err
	case c.consoleMode == consoleMovable && errors.Is(err, syscall.EADDRINUSE):
		return listen(ctx, "the console", net.JoinHostPort(hostIn(c.ConsoleListen), "0"))
	}
	log.Warn("console", "warning", "there is no console: "+err.Error())
	return nil, nil
}

// authoritiesPolls is how many times less often authorities are read than other files: there may be hundreds of them.
const authoritiesPolls = 10

// reread returns a function that logs the reload of the certificate or the authorities, or why it was refused.
func reread(what string, log *slog.Logger) func(error) {
	return func(err error) {
		if err != nil {
			log.Error(what+" refused, the previous content stays in force", "fault", err.Error())
			return
		}
		log.Info(what + " loaded")
	}
}

// hostIn returns the host of an address with a port.
func hostIn(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// listen opens an address. The error names the setting and the cause, without the address.
func listen(ctx context.Context, setting, address string) (net.Listener, error) {
	listener, err := wire.Listen(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen there: %w", setting, addressless(err))
	}
	return listener, nil
}

func addressless(err error) error {
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return errors.New(lookup.Err)
	}
	var outer *net.OpError
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}

// consoleState is the console's line in readiness.
func (l listeners) consoleState(setting string) error {
	if l.console == nil && setting != settings.ConsoleOff {
		return errors.New("there is none, because its port was taken; set " + settings.Prefix + "CONSOLE_LISTEN")
	}
	return nil
}

// acceptor is a listener that logs when it cannot accept connections. net/http retries by itself within a second, but only logs
// to its own error log.
type acceptor struct {
	net.Listener
	log    *slog.Logger
	failed atomic.Uint64 // times since the start
	fault  atomic.Pointer[string]
}

// Accept implements net.Listener.
func (a *acceptor) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	switch {
	case err == nil:
		if a.fault.Swap(nil) != nil {
			a.log.Info("connections are accepted again")
		}
	case !errors.Is(err, net.ErrClosed):
		a.failed.Add(1)
		text := addressless(err).Error()
		if a.fault.Swap(&text) == nil {
			a.log.Error("no connection can be accepted", "error", text)
		}
	}
	return conn, err
}

// state is the acceptor's line in readiness.
func (a *acceptor) state() error {
	if text := a.fault.Load(); text != nil {
		return fmt.Errorf("no connection can be accepted (%d times since the start): %s", a.failed.Load(), *text)
	}
	return nil
}
