package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/ingress"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/echo"
	"sluice/gateway/upstream"
)

// throughCommand is sluice check --through.
type throughCommand struct {
	URL        string        `name:"through" placeholder:"URL" help:"Try what stands in front of a gateway instead, such as https://models.example: streams, waits, large bodies and headers. Asks no service."`
	Key        string        `placeholder:"F" help:"With --through: a file with nothing but a team's key; - reads it from standard input."`
	Silence    time.Duration `default:"65s" placeholder:"T" help:"With --through: how long a stream is silent, from 1s to 2m: ${default}."`
	CA         string        `name:"ca" placeholder:"F" help:"With --through: a PEM file with the authorities of its certificate; the system's if absent."`
	ClientCert string        `placeholder:"F" help:"With --through: a PEM file with a client's certificate and its key, where one is asked for."`
}

// run tests the reverse proxy in front of a gateway. It reads no settings.
func (t throughCommand) run(ctx context.Context, p program) error {
	to, err := url.Parse(t.URL)
	switch {
	case err != nil || to.Host == "" || to.Scheme != "https" && to.Scheme != "http" || to.User != nil || to.RawQuery != "":
		return badUsage{errors.New("--through: allowed: the address of Sluice for clients without /api/v1, such as https://models.example")}
	case to.Scheme == "http" && !settings.IsLoopback(to.Hostname()):
		return badUsage{errors.New("--through: allowed: an address with https; http, which sends the key in clear text, only on this machine")}
	case t.Key == "":
		return badUsage{errors.New("--key: required with --through: a file with a team's key, or - for standard input")}
	case t.Silence < time.Second || t.Silence > echo.Longest || t.Silence%time.Second != 0:
		return badUsage{errors.New("--silence: allowed: whole seconds from 1s to 2m")}
	}
	c := ingress.Config{URL: to, Silence: t.Silence}
	if c.Key, err = t.key(); err != nil {
		return badUsage{fmt.Errorf("--key: %w", err)}
	}
	if t.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(t.ClientCert, t.ClientCert)
		if err != nil {
			return badUsage{errors.New("--client-cert: allowed: a readable PEM file with a certificate and its key")}
		}
		c.Certificate = &pair
	}
	if t.CA != "" {
		text, err := files.Read(t.CA)
		if c.Roots = x509.NewCertPool(); err != nil || !c.Roots.AppendCertsFromPEM(text) {
			return badUsage{errors.New("--ca: allowed: a readable PEM file with certificates")}
		}
	}
	return ingress.Try(ctx, p.stdout, c)
}

// key reads the team's key.
func (t throughCommand) key() (key upstream.Secret, err error) {
	if t.Key != "-" {
		key, err = files.Secret(t.Key)
	} else if content, failed := files.All(os.Stdin); failed == nil {
		key, err = files.SecretOf(content)
	} else {
		err = failed
	}
	if err == nil && !files.IsKey(key) {
		err = errors.New("the content is no key")
	}
	return key, err
}
