package main

import (
	"sluice/cmd/sluice/files"
	"sluice/gateway/upstream"
)

// rereading returns what reads the file of a secret, and what it was at the start if that cannot be read.
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

// tunnel is the way out of the house.
func (c *configuration) tunnel() *upstream.Tunnel {
	tunnel, _ := upstream.ParseTunnel(c.UpstreamProxy, c.NoProxy) // validate has looked at it
	if tunnel == nil {
		tunnel = new(upstream.Tunnel)
	}
	if tunnel.Roots = c.authorities.Roots; c.UpstreamProxyFile != "" {
		tunnel.Reread = rereading(c.UpstreamProxyFile, c.UpstreamProxy)
	}
	return tunnel
}
