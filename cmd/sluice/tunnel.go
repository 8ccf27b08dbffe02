package main

import (
	"sluice/cmd/sluice/files"
	"sluice/gateway/upstream"
)

// rereading returns a function that reads a secret's file, and returns the secret at the start if the file cannot be read.
func rereading(path string, was upstream.Secret) func() upstream.Secret {
	return func() upstream.Secret {
		if path == "" {
			return was
		}
		secret, err := files.Secret(path)
		if err != nil {
			return was
		}
		return secret
	}
}

// tunnel returns the dialer for outgoing connections, through the proxy if one is set.
func (c *configuration) tunnel() *upstream.Tunnel {
	tunnel, _ := upstream.ParseTunnel(c.UpstreamProxy, c.NoProxy) // validated
	if tunnel == nil {
		tunnel = new(upstream.Tunnel)
	}
	if tunnel.Roots = c.authorities.Roots; c.UpstreamProxyFile != "" {
		tunnel.Reread = rereading(c.UpstreamProxyFile, c.UpstreamProxy)
	}
	return tunnel
}
