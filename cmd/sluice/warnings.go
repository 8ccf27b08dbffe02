package main

import (
	"fmt"
	"net"
	"strings"

	"sluice/policy/teams"
)

// warn notes settings that are allowed but may be mistakes.
func (c *configuration) warn() {
	if c.teams != nil {
		for _, text := range c.teams.Warnings() {
			c.warnings = append(c.warnings, prefix+"TEAMS_FILE: "+text)
		}
		c.warnings = append(c.warnings, c.shutOut(c.teams, teams.OwnerFile)...)
	}
	for _, secret := range []struct{ name, path string }{
		{"UPSTREAM_KEY_FILE", c.UpstreamKeyFile},
		{"REDIS_URL_FILE", c.RedisURLFile},
		{"TLS_KEY_FILE", c.TLSKeyFile},
		{"CONSOLE_TOKEN_FILE", c.ConsoleTokenFile},
		{"OIDC_CLIENT_SECRET_FILE", c.OIDCClientSecretFile},
	} {
		if secret.path != "" && worldReadable(secret.path) {
			c.warnings = append(c.warnings, prefix+secret.name+": every user of this machine can read the file; chmod o-r")
		}
	}
	if files := filesAllowed(); uint64(max(c.MaxConnections, 0))+ownFiles > files {
		c.warnings = append(c.warnings, fmt.Sprintf("%sMAX_CONNECTIONS: this process may open %d files, too few for %d connections of clients, those to upstream and its own; raise the limit of open files or lower the setting", prefix, files, c.MaxConnections))
	}
	if c.RedisURL == "" {
		c.warnings = append(c.warnings, prefix+"REDIS_URL: not set, so quotas and tasks live in this process's memory and are lost when it ends")
	}
	if c.RedisURL != "" && c.DirectoryFile != "" {
		c.warnings = append(c.warnings, prefix+"DIRECTORY_FILE: not used, because the directory is in Redis")
	}
	if c.RedisURL == "" && c.StateDir != "" {
		c.warnings = append(c.warnings, prefix+"STATE_DIR: not used, because the directory is not in Redis")
	}
	if c.ConsoleListen == consoleOff && (c.ConsoleURL != "" || c.ConsoleTokenFile != "" || c.OIDCIssuer != "") {
		c.warnings = append(c.warnings, prefix+"CONSOLE_LISTEN: off, so the other settings of the console are not used")
	}
	if u := c.UpstreamURL; u != nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		c.warnings = append(c.warnings, prefix+"UPSTREAM_URL: http sends the upstream key in clear text")
	}
	if host, _, _ := net.SplitHostPort(c.AdminListen); c.AdminPprof && !isLoopback(host) {
		c.warnings = append(c.warnings, prefix+"ADMIN_PPROF: profiles can contain prompts and keys, and "+prefix+"ADMIN_LISTEN is not loopback")
	}
	if c.CaptureContent {
		c.warnings = append(c.warnings, prefix+"CAPTURE_CONTENT: spans that are sent contain prompts and answers")
	}
}

// shutOut warns of the forwarded paths that an owner's teams had without naming other in their endpoints, and have no more.
func (s settings) shutOut(file *teams.File, owner teams.Owner) []string {
	var ids []string
	for _, team := range file.List {
		if team.Owner == owner && team.Endpoints == nil {
			ids = append(ids, team.ID)
		}
	}
	if len(s.ForwardPaths) == 0 || len(ids) == 0 {
		return nil
	}
	return []string{prefix + "FORWARD_PATHS: these teams have no endpoints, and so no longer may use these paths: " + strings.Join(ids, ", ") +
		"; name other in the endpoints of those that shall"}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
