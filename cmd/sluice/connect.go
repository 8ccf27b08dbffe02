package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"sluice/cache"
	"sluice/cmd/sluice/peers"
	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/mirror/store"
	"sluice/gateway/upstream"
	"sluice/policy/event"
	"sluice/policy/teams"
)

// connect checks whether the gateway's peers can be reached. No call costs money.
func (c *configuration) connect(ctx context.Context, p program, file *teams.File) error {
	var all []peers.Peer
	if c.RedisURL != "" {
		client := openPatient(c.Settings)
		defer func() { _ = client.Close() }()
		all = append(all, peers.Peer{Name: "Redis", Try: func(ctx context.Context) (time.Duration, string, error) {
			return c.tryRedis(ctx, client)
		}})
	}
	trip := c.tunnel().Transport()
	all = append(append(all, c.services(trip)...), issuers(c.OIDCIssuer, file, trip)...)
	if c.MirrorURL.String() != "" {
		all = append(all, peers.Peer{Name: "the mirror", Try: c.pictures})
	}
	networks := settings.Prefixes(c.HookNetworks)
	all = append(all, hookNames(event.Operators, file.Hooks, networks)...)
	for _, team := range file.List {
		all = append(all, hookNames(team.ID, team.Hooks, networks)...)
	}
	return peers.Try(ctx, p.stdout, all)
}

// tryRedis pings Redis, reads its eviction policy, and writes a key that expires at once: a replica, or a Redis that is full, answers, too.
func (c *configuration) tryRedis(ctx context.Context, client *redisclient.Client) (took time.Duration, warning string, err error) {
	trip := peers.RoundTrip(c.RedisTimeout, func(ctx context.Context) error { return client.Ping(ctx).Err() })
	if took, warning, err = trip(ctx); err != nil {
		return took, "", redisclient.Plain(err, peers.Plain)
	}
	known, err := client.RequireNoEviction(ctx)
	if err != nil {
		return took, "", err
	}
	if err := client.Set(ctx, cache.KeyPrefix+"check:"+rand.Text(), "", time.Millisecond).Err(); err != nil {
		return took, "", fmt.Errorf("a write fails: %w", redisclient.Plain(err, peers.Plain))
	}
	switch {
	case known:
		return took, warning, nil
	case warning != "":
		warning += "; "
	}
	return took, warning + redisclient.PolicyUnknown, nil
}

// pictures stores, lists and deletes an object in the store of pictures, as replicas do.
func (c *configuration) pictures(ctx context.Context) (time.Duration, string, error) {
	begun := time.Now()
	kept, err := c.openPictures()
	if err != nil {
		return 0, "", err
	}
	const prefix = "sluice-check/" // the folder of a team with this id
	key := prefix + rand.Text() + ".txt"
	if err = kept.Put(ctx, key, &store.Object{Body: []byte("sluice check --connect"), Type: "text/plain"}); err != nil {
		return 0, "", fmt.Errorf("it takes no object: %w", err)
	}
	list, err := kept.List(ctx, key, "", 1)
	if err == nil && len(list) == 0 {
		err = store.ErrAbsent
	}
	if err != nil {
		return 0, "", fmt.Errorf("it does not list the object that was just stored: %w", err)
	}
	if err = kept.Delete(ctx, list); err != nil {
		return 0, "", fmt.Errorf("it does not remove %s: %w", key, err)
	}
	return time.Since(begun), "", nil
}

// noTask is the id of a task that no account has.
const noTask = "00000000-0000-0000-0000-000000000000"

// services returns the accounts at the service. A query of a missing task costs nothing and needs a valid key.
func (c *configuration) services(trip http.RoundTripper) (all []peers.Peer) {
	for _, account := range c.Upstream.File.List {
		base := c.UpstreamURL
		if account.URL != nil {
			base = account.URL
		}
		try := peers.Get(trip, base.JoinPath("tasks", noTask).String(), c.Upstream.Keys[account.ID].Reveal(), http.StatusOK, http.StatusNotFound,
			http.StatusBadRequest)
		all = append(all, peers.Peer{Name: "the service, account " + account.ID, Try: try})
	}
	return all
}

// issuers returns the issuers of the console and the teams file.
func issuers(console string, file *teams.File, trip http.RoundTripper) (all []peers.Peer) {
	seen := map[string]bool{"": true}
	addresses := []string{console}
	for _, issuer := range file.Issuers {
		addresses = append(addresses, issuer.URL)
	}
	for _, address := range addresses {
		if !seen[address] {
			seen[address] = true
			all = append(all, peers.Peer{
				Name: "the issuer " + address,
				Try:  peers.Get(trip, strings.TrimSuffix(address, "/")+"/.well-known/openid-configuration", "", http.StatusOK),
			})
		}
	}
	return all
}

// hookNames returns the hosts of an owner's hooks. They are looked up, not called.
func hookNames(owner string, hooks []event.Hook, networks []netip.Prefix) (all []peers.Peer) {
	for i := range hooks {
		hook := &hooks[i]
		all = append(all, peers.Peer{
			Name: fmt.Sprintf("the name of hook %s of %s", hook.ID, owner),
			Try: func(ctx context.Context) (time.Duration, string, error) {
				u, err := url.Parse(hook.URL)
				if err != nil {
					return 0, "", errors.New("it is no address")
				}
				begun := time.Now()
				addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
				for _, address := range addresses {
					if !upstream.MayConnect(address, networks) {
						return time.Since(begun), "it leads to a private address, which " + settings.Prefix + "HOOK_NETWORKS does not list", nil
					}
				}
				return time.Since(begun), "", err
			},
		})
	}
	return all
}
