package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/docs/bench/load"
)

const (
	openConsoles = 50
	houseTeams   = 1000
	consoleToken = "bench-operators-token-0000000000000000"
	settled      = time.Second // after consoles were opened
)

// livePages are the pages with live parts, opened in turn.
var livePages = []string{"/now", "/requests", "/tasks"}

// consoles sends requests at a steady rate while no console is open and while fifty are, one after the other. Turns alternate
// which is first.
func consoles(w *world, g *gateway) ([]float64, error) {
	g.turns++
	var figures [2][3]float64
	for i := range 2 {
		with := (i + g.turns) % 2
		got, err := besideConsoles(w, g, with*openConsoles)
		if err != nil {
			return nil, err
		}
		figures[with] = got
	}
	without, with := figures[0], figures[1]
	return []float64{
		without[0], with[0], with[0] / without[0], without[1], with[1], with[1] / without[1], without[2], with[2], with[2] / without[2],
	}, nil
}

var consoleColumns = []column{
	{"p50 µs, none", 0, false},
	{"fifty", 0, false},
	{"fifty ÷ none", 2, false},
	{"p99 µs, none", 0, false},
	{"fifty", 0, false},
	{"fifty ÷ none", 2, false},
	{"CPU µs/request, none", 1, false},
	{"fifty", 1, false},
	{"fifty ÷ none", 2, false},
}

// besideConsoles returns p50, p99 and CPU of a request while n consoles are open.
func besideConsoles(w *world, g *gateway, n int) (figures [3]float64, err error) {
	stop, err := openLive(g.console, n)
	if err != nil {
		return figures, err
	}
	defer stop()
	time.Sleep(settled)
	cpu := g.CPU()
	took, err := steady(w, g, g.Address)
	if err != nil {
		return figures, err
	}
	used := g.CPU() - cpu
	return [3]float64{
		microseconds(load.Quantile(took, 0.5)), microseconds(load.Quantile(took, 0.99)),
		microseconds(used) / float64(len(took)+w.clients),
	}, nil
}

// idleConsoles measures the cost of open consoles without requests.
func idleConsoles(w *world, g *gateway) ([]float64, error) {
	g.turns++
	var figures [2][2]float64
	for i := range 2 {
		with := (i + g.turns) % 2
		stop, err := openLive(g.console, with*openConsoles)
		if err != nil {
			return nil, err
		}
		time.Sleep(settled)
		cpu, wakes, begun := g.CPU(), g.Wakes(), time.Now()
		time.Sleep(w.lasts)
		seconds := time.Since(begun).Seconds()
		figures[with] = [2]float64{float64(g.Wakes()-wakes) / seconds, microseconds(g.CPU()-cpu) / 1000 / seconds}
		stop()
	}
	return []float64{figures[0][0], figures[1][0], figures[0][1], figures[1][1]}, nil
}

var idleColumns = []column{
	{"wake-ups a second, none", 0, false},
	{"fifty", 0, false},
	{"CPU ms a second, none", 1, false},
	{"fifty", 1, false},
}

// openLive opens the live parts of n consoles and reads their events, until stop is called.
func openLive(address string, n int) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	transport := &http.Transport{DisableCompression: true, DialContext: fromMany()}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	stop = func() {
		cancel()
		reading.Wait()
		transport.CloseIdleConnections()
	}
	if n == 0 {
		return stop, nil
	}
	cookie, err := signIn(client, address)
	if err != nil {
		return stop, err
	}
	for i := range n {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+livePages[i%len(livePages)], http.NoBody)
		if err != nil {
			return stop, err
		}
		request.AddCookie(cookie)
		request.Header.Set("Accept", "text/event-stream")
		answer, err := client.Do(request)
		if err != nil {
			return stop, err
		}
		if answer.StatusCode != http.StatusOK {
			_ = answer.Body.Close()
			return stop, fmt.Errorf("%s: %s", request.URL, answer.Status)
		}
		reading.Go(func() {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		})
	}
	return stop, nil
}

// fromMany dials from another address of this machine each time: one address may have a quarter of the console's connections.
func fromMany() func(ctx context.Context, network, address string) (net.Conn, error) {
	var n atomic.Int32
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+n.Add(1)%100))}
		return (&net.Dialer{LocalAddr: from}).DialContext(ctx, network, address)
	}
}

// awaitSums waits until the sums of all past days are made, as in a process that has run for long.
func awaitSums(address string) error {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	cookie, err := signIn(client, address)
	if err != nil {
		return err
	}
	from := time.Now().UTC().AddDate(0, 0, -390).Format(time.DateOnly)
	for begun := time.Now(); time.Since(begun) < 5*time.Minute; time.Sleep(time.Second) {
		request, err := http.NewRequest(http.MethodGet, "http://"+address+"/money?from="+from,
			http.NoBody) //nolint:noctx // on loopback it hardly waits
		if err != nil {
			return err
		}
		request.AddCookie(cookie)
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
	return errors.New("the sums of past days are not made")
}

// signIn returns the cookie of an operator's session.
func signIn(client *http.Client, address string) (*http.Cookie, error) {
	form := strings.NewReader(url.Values{"secret": {consoleToken}}.Encode())
	request, err := http.NewRequest(http.MethodPost, "http://"+address+"/login", form) //nolint:noctx // on loopback it hardly waits
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	for _, cookie := range answer.Cookies() {
		if cookie.Value != "" {
			return cookie, nil
		}
	}
	return nil, errors.New("no session: " + answer.Status)
}

// fillHouse gives every team some use today, in the ledger.
func fillHouse(address string) error {
	conn, err := net.Dial("tcp", address) //nolint:noctx // on loopback it hardly waits
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var commands strings.Builder
	day := time.Now().UTC().Format("20060102")
	for n := range houseTeams {
		fmt.Fprintf(&commands, "SADD sl1:teams team-%d\r\nHSET sl1:{team-%d}:use:%s day %s", n+1, n+1, day, day)
		for _, model := range []string{"llm-plus", "llm-max", "gen2.6-image"} {
			fmt.Fprintf(&commands, " %s|text|requests %d %s|text|tokens %d %s|text|spend %d", model, 100+n, model, 90_000+n, model, 72_000_000+n)
		}
		commands.WriteString("\r\n")
	}
	go func() { _, _ = io.WriteString(conn, commands.String()) }()
	replies := bufio.NewReader(conn)
	for range 2 * houseTeams {
		line, err := replies.ReadString('\n')
		if err != nil || line[0] != ':' {
			return fmt.Errorf("redis: %q, %w", line, err)
		}
	}
	return nil
}
