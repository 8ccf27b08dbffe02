package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/cmd/sluice/demo"
	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway"
	"sluice/gateway/upstream"
	"sluice/policy/teams"
)

// secretName matches the name of a field with a secret; a path to one is no secret.
var secretName = regexp.MustCompile(`(?i)(key|token|password|secret|credential)s?$`)

// TestSecretsHaveTheirType checks every struct of this package's configuration and the gateway's.
func TestSecretsHaveTheirType(t *testing.T) {
	found := 0
	for _, kind := range []reflect.Type{
		reflect.TypeFor[settings.Settings](), reflect.TypeFor[gateway.Config](), reflect.TypeFor[gateway.Deps](),
		reflect.TypeFor[demo.Teams](), reflect.TypeFor[watch](), reflect.TypeFor[files.Key](), reflect.TypeOf(files.Upstream{}.Set),
	} {
		for field := range kind.Fields() {
			isSecret := field.Type == reflect.TypeFor[upstream.Secret]() || field.Type == reflect.TypeFor[map[string]upstream.Secret]()
			if secretName.MatchString(field.Name) && !isSecret {
				t.Errorf("%s.%s is a %s, want an upstream.Secret", kind, field.Name, field.Type)
			}
			if isSecret {
				found++
			}
		}
	}
	if redis, _ := reflect.TypeFor[settings.Settings]().FieldByName("RedisURL"); redis.Type != reflect.TypeFor[upstream.Secret]() {
		t.Error("an address that may hold a password must be an upstream.Secret")
	}
	if found < 5 {
		t.Errorf("only %d secrets seen: the test looks at the wrong structs", found)
	}
}

func TestTheConfigurationPrintsWithoutSecrets(t *testing.T) {
	c, err := loadConfiguration(with("SLUICE_REDIS_URL=redis://:CANARY@h", "SLUICE_UPSTREAM_KEY=CANARY",
		"SLUICE_TEAMS_FILE="+write(t, someTeams)))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("configuration", "settings", c.Settings, "all", c)
	encoded, err := json.Marshal(c.UpstreamKey)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{log.String(), string(encoded), fmt.Sprint(c.Values())}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		texts = append(texts, fmt.Sprintf(verb, c.Settings), fmt.Sprintf(verb, c))
	}
	for _, text := range texts {
		if strings.Contains(text, "CANARY") {
			t.Errorf("a secret shows in %.200s", text)
		}
	}
}

// TestNoValueShows puts a canary into every variable, one at a time, and reads the whole output of check and serve.
func TestNoValueShows(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-4f1e9b"
	teams := "SLUICE_TEAMS_FILE=" + write(t, someTeams)
	listeners := []string{"SLUICE_LISTEN=127.0.0.1:0", "SLUICE_ADMIN_LISTEN=127.0.0.1:0", "SLUICE_SHUTDOWN_DELAY=0"}
	for _, name := range settings.Names {
		for _, value := range []string{canary, " " + canary, canary + "\x01", canary + ":80", "redis://:" + canary + "@h"} {
			environ := append(with(teams), append(listeners, name+"="+value)...)
			if serve := command(stopped(), environ, "serve"); strings.Contains(serve.text(), canary) {
				t.Errorf("%s=%q: serve says\n%s", name, value, serve.text())
			}
			check := command(stopped(), environ, "check")
			if strings.Contains(check.stderr, canary) {
				t.Errorf("%s=%q: check's faults say\n%s", name, value, check.stderr)
			}
			// check shows valid values that are no secrets, on their own line and nowhere else.
			own := name + "=" + value + "\n"
			if isSecretName(name) {
				own = "\x00"
			}
			if strings.Contains(strings.Replace(check.stdout, own, "", 1), canary) {
				t.Errorf("%s=%q: check shows\n%s", name, value, check.stdout)
			}
		}
	}
	unknown := command(stopped(), with(teams, "SLUICE_UPSTREAM_KYE="+canary), "serve")
	if unknown.code != exitFaulty || strings.Contains(unknown.text(), canary) {
		t.Errorf("an unknown variable: %+v", unknown)
	}
}

func isSecretName(name string) bool { return slices.Contains(settings.Secrets[:3], name) }

func TestSecretNamesAreThoseOfTheSecrets(t *testing.T) {
	var names []string
	for field := range reflect.TypeFor[settings.Settings]().Fields() {
		if field.Type == reflect.TypeFor[upstream.Secret]() {
			names = append(names, settings.Prefix+field.Tag.Get("env"))
		}
	}
	if !reflect.DeepEqual(names, settings.Secrets) {
		t.Errorf("secrets are %q, secretNames has %q", names, settings.Secrets)
	}
	for _, name := range settings.Secrets {
		if settings.Allowed[name+"_FILE"] == "" {
			t.Errorf("%s has no _FILE form", name)
		}
	}
}

func TestSecretsLeaveTheEnvironment(t *testing.T) {
	for _, name := range settings.Secrets {
		t.Setenv(name, "CANARY")
	}
	forgetSecrets()
	got := command(stopped(), os.Environ(), "check")
	if strings.Contains(strings.Join(os.Environ(), "\n"), "CANARY") || !strings.Contains(got.stderr, "SLUICE_UPSTREAM_KEY: ") {
		t.Error("a secret is still in the environment")
	}
}

func TestAMintedKeyPrintsWithoutItsSecret(t *testing.T) {
	minted, err := teams.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret := minted.Reveal()[len("slk_")+len(minted.ID)+1:]
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(verb, minted); betrayed(text, secret) != "" {
			t.Errorf("%s shows %s", verb, text)
		}
	}
}
