package main

import "net"

// warn notes what is allowed and maybe not meant.
func (c *configuration) warn() {
	if c.teams != nil {
		for _, text := range c.teams.Warnings() {
			c.warnings = append(c.warnings, prefix+"TEAMS_FILE: "+text)
		}
	}
	for _, secret := range []struct{ name, path string }{
		{"UPSTREAM_KEY_FILE", c.UpstreamKeyFile}, {"REDIS_URL_FILE", c.RedisURLFile}, {"TLS_KEY_FILE", c.TLSKeyFile},
	} {
		if secret.path != "" && worldReadable(secret.path) {
			c.warnings = append(c.warnings, prefix+secret.name+": every user of this machine can read the file")
		}
	}
	if c.RedisURL == "" {
		c.warnings = append(c.warnings, prefix+"REDIS_URL: not set, so quotas and tasks live in this process's memory and die with it")
	}
	if u := c.UpstreamURL; u != nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		c.warnings = append(c.warnings, prefix+"UPSTREAM_URL: http sends the upstream key in clear text")
	}
	if host, _, _ := net.SplitHostPort(c.AdminListen); c.AdminPprof && !isLoopback(host) {
		c.warnings = append(c.warnings, prefix+"ADMIN_PPROF: profiles can contain prompts and keys, and "+prefix+"ADMIN_LISTEN is not loopback")
	}
	c.warnings = append(c.warnings, c.idle()...)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// notYet are the settings that are read and checked but change nothing in this build. Whoever sets one must be told:
// limits that nobody keeps are worse than none, because somebody counts on them. What gives a setting its effect takes
// its row away.
var notYet = []struct{ name, instead string }{
	{"PROVIDER_NAME", "there are no spans"},
	{"TRACE_CONTEXT", "there are no spans"},
	{"TRACE_UPSTREAM", "there are no spans"},
	{"CAPTURE_CONTENT", "there are no spans"},
}

// idle tells of every setting that was changed in vain, and of limits that nobody keeps.
func (c *configuration) idle() []string {
	var texts []string
	standard, _ := loadSettings(nil)
	defaults, values := standard.values(), c.values()
	for _, row := range notYet {
		if name := prefix + row.name; values[name] != defaults[name] {
			texts = append(texts, name+": has no effect in this build: "+row.instead)
		}
	}
	return texts
}
