package main

import (
	"sync/atomic"

	"sluice/cmd/sluice/files"
	"sluice/gateway/upstream"
)

// rereading returns a function that reads a secret's file. While the file cannot be read, it returns the secret that was read last.
func rereading(path string, was upstream.Secret) func() upstream.Secret {
	var last atomic.Pointer[upstream.Secret]
	last.Store(&was)
	return func() upstream.Secret {
		if path != "" {
			if secret, err := files.Secret(path); err == nil {
				last.Store(&secret)
			}
		}
		return *last.Load()
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
