package main

import (
	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
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

// tunnel is the way out of the house; nil: direct.
func tunnel(s *settings.Settings) *upstream.Tunnel {
	tunnel, _ := upstream.ParseTunnel(s.UpstreamProxy, s.NoProxy) // validate has looked at it
	if tunnel != nil && s.UpstreamProxyFile != "" {
		tunnel.Reread = rereading(s.UpstreamProxyFile, s.UpstreamProxy)
	}
	return tunnel
}
