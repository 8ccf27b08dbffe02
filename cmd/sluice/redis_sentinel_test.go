package main

import (
	"fmt"
	"testing"
)

// Sentinels and their master have passwords of their own: both, one of them, or none.
func TestSentinelsAndTheirMasterHavePasswordsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for about, tt := range map[string]struct{ master, sentinel string }{
		"neither":            {},
		"only the master":    {master: "of-master"},
		"only the sentinels": {sentinel: "of/sentinel"},
		"both":               {master: "of-master", sentinel: "of/sentinel"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			var ofMaster, ofSentinel []string
			user, query := "", ""
			if tt.master != "" {
				ofMaster, user = []string{"--requirepass", tt.master}, ":"+tt.master+"@"
			}
			if tt.sentinel != "" {
				ofSentinel, query = []string{"requirepass " + tt.sentinel}, "?sentinel=:of%2Fsentinel"
			}
			master := startRedis(t, ofMaster...)
			monitor := []string{"--sentinel", fmt.Sprintf("sentinel monitor sluice 127.0.0.1 %d 1", master.port)}
			if tt.master != "" {
				monitor = append(monitor, "sentinel auth-pass sluice "+tt.master)
			}
			sentinel := startRedis(t, append(monitor, ofSentinel...)...)
			k := openReplica(t, "redis+sentinel://"+user+sentinel.address()+"/sluice"+query, nil, generous)
			k.eventually(patience, "connected", func() bool { return k.spend(10) && k.well() })
			if log := k.log.text(); k.log.count("Redis is away") != 0 {
				t.Errorf("it logs\n%s", log)
			}
		})
	}
}
