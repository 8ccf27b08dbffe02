package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/tasks"
)

// deployed is the directory with the files from which an operator starts.
const deployed = "../../deploy/"

// afterRequests is how long a stop may take after the requests have ended: the last queries of tasks, charges, claims and counts,
// telemetry, and the log.
const afterRequests = tasks.QueryTime + settleFor + noteFor + sendFor + logFlush

// deployTool is a program to which an operator gives deploy/.
func deployTool(t *testing.T, name string) func(args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI_REQUIRES_DEPLOY") != "" {
			t.Fatalf("%s is not installed, and CI requires it", name)
		}
		t.Skipf("%s is not installed", name)
	}
	return func(args ...string) (string, error) {
		var stdout, stderr bytes.Buffer
		tool := exec.CommandContext(t.Context(), path, args...)
		tool.Stdout, tool.Stderr = &stdout, &stderr
		if err := tool.Run(); err != nil {
			return "", errors.New(stderr.String() + stdout.String())
		}
		return stdout.String(), nil
	}
}

// readYAML reads a file of deploy/.
func readYAML[T any](t *testing.T, name string) (v T) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readRoot(t, "deploy/"+name)), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func TestDeployNamesOnlySettingsThereAre(t *testing.T) {
	named := regexp.MustCompile(`\bSLUICE_[A-Z][A-Z_]*\b`)
	files := 0
	err := filepath.WalkDir(deployed, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		for _, name := range named.FindAllString(string(content), -1) {
			if !slices.Contains(settings.Names, name) {
				t.Errorf("%s names %s, an unknown setting", path, name)
			}
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v", files, err)
	}
}

// composition is the part of the compose file that the tests read.
type composition struct {
	Services map[string]struct {
		Environment map[string]string
		Command     []string
		Ports       []string
		Volumes     []string
		Profiles    []string
		Secrets     []string
		Healthcheck map[string]any
		User        string
		ReadOnly    bool     `yaml:"read_only"`
		Adds        []string `yaml:"cap_add"`
		Drops       []string `yaml:"cap_drop"`
		Security    []string `yaml:"security_opt"`
		MemLimit    string   `yaml:"mem_limit"`
		StopGrace   string   `yaml:"stop_grace_period"`
	}
}

func TestComposeIsWhatComposeReads(t *testing.T) {
	compose := deployTool(t, "compose-spec")
	if _, err := compose("--no-interpolation", deployed+"compose.yaml"); err != nil {
		t.Error(err)
	}
}

func TestComposeHasAllThatSluiceNeeds(t *testing.T) {
	services := readYAML[composition](t, "compose.yaml").Services
	for _, name := range []string{"sluice", "redis", "collector", "prometheus", "grafana"} {
		if s, ok := services[name]; !ok || len(s.Profiles) > 0 {
			t.Errorf("%s does not start by itself", name)
		}
	}
	redis := strings.Join(services["redis"].Command, " ")
	for _, want := range []string{"redis-server ", "--appendonly yes", "--appendfsync everysec", "--maxmemory-policy noeviction"} {
		if !strings.Contains(redis, want) {
			t.Errorf("redis lacks %s: %s", want, redis)
		}
	}
	for _, name := range []string{"sluice", "redis"} {
		if services[name].Healthcheck["test"] == nil {
			t.Errorf("%s has no healthcheck", name)
		}
	}
	if len(services["redis"].Ports) > 0 {
		t.Error("redis is published")
	}
	for name, s := range services {
		if !s.ReadOnly || !slices.Equal(s.Drops, []string{"ALL"}) || !slices.Equal(s.Security, []string{"no-new-privileges:true"}) {
			t.Errorf("%s may write to its image, or has capabilities that it was not given", name)
		}
		user := regexp.MustCompile(`\$\{[A-Z_]+:-([^}]*)\}`).ReplaceAllString(s.User, "$1")
		if !regexp.MustCompile(`^[1-9][0-9]*(:[1-9][0-9]*)?$`).MatchString(user) || len(s.Adds) > 0 {
			t.Errorf("%s runs as %q with the capabilities %q; docs/SECURITY.md promises that none runs as root or has any", name, s.User, s.Adds)
		}
		for _, port := range s.Ports {
			if port != "8080:8080" && !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s beyond loopback", name, port)
			}
		}
		for _, volume := range s.Volumes {
			if source, _, _ := strings.Cut(volume, ":"); strings.HasPrefix(source, "./") &&
				!slices.Contains([]string{"./teams", "./accounts", "./authorities"}, source) {
				if _, err := os.Stat(deployed + source); err != nil {
					t.Errorf("%s mounts %s: %v", name, source, err)
				}
			}
		}
	}
}

// TestThePageWritesSecretsThatTheirReadersCanRead: Redis's container reads its address by the file's group, of which the folder keeps
// others out.
func TestThePageWritesSecretsThatTheirReadersCanRead(t *testing.T) {
	block := regexp.MustCompile("(?s)\n```sh\n(install -d -m 0700 deploy/secrets && mkdir .+?)\ndocker compose").
		FindStringSubmatch(readRoot(t, "docs/operating.md"))
	if block == nil {
		t.Fatal("docs/operating.md does not prepare the composition")
	}
	script := strings.NewReplacer("openssl rand -hex 32", "echo 0123", "/dev/stdin", "teams.yaml").Replace(block[1])
	_, dir := runScript(t, "umask 022; echo teams: > teams.yaml\n"+script)
	for name, mode := range map[string]fs.FileMode{"secrets": 0o700, "secrets/redis-url": 0o640, "secrets/upstream-key": 0o400,
		"secrets/console-token": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, "deploy", name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %o", name, info, err, mode)
		}
	}
	if set := readFileText(t, filepath.Join(dir, "deploy", ".env")); !strings.Contains(set,
		fmt.Sprintf("\nRUN_AS=%d:%d\nRUN_AS_GROUP=%[2]d\n", os.Getuid(), os.Getgid())) {
		t.Errorf("deploy/.env has %q", set)
	}
}

// Sluice accepts the composition's environment, and the composition's stop cuts no request.
func TestComposeConfiguresSluice(t *testing.T) {
	sluice := readYAML[composition](t, "compose.yaml").Services["sluice"]
	var environ []string
	for name, value := range sluice.Environment {
		if _, unset, found := strings.Cut(value, ":-"); found {
			value = strings.TrimSuffix(unset, "}") // as it is unless the operator sets it
		}
		switch name {
		case "SLUICE_UPSTREAM_URL":
			value = "https://service.example/api/v1"
		case "SLUICE_UPSTREAM_KEY_FILE":
			value = write(t, "sk-upstream\n")
		case "SLUICE_REDIS_URL_FILE":
			value = write(t, "redis://:word@redis:6379\n")
		case "SLUICE_CONSOLE_TOKEN_FILE":
			value = write(t, strings.Repeat("0123456789abcdef", 4)+"\n")
		case "SLUICE_TEAMS_FILE":
			value = write(t, someTeams)
		case "SSL_CERT_DIR":
			value = t.TempDir()
		}
		environ = append(environ, name+"="+value)
	}
	c, err := loadConfiguration(environ)
	if err != nil {
		t.Fatal(err)
	}
	if stop := parseDuration(t, sluice.StopGrace); stop < c.ShutdownDelay+c.ShutdownGrace+afterRequests {
		t.Errorf("stop_grace_period %v cuts what may run for %v after %v", stop, c.ShutdownGrace, c.ShutdownDelay)
	}
	if len(c.warnings) > 0 {
		t.Errorf("warnings: %q", c.warnings)
	}
	if !sluice.ReadOnly {
		t.Error("the container's file system can be written to")
	}
	if sluice.MemLimit != "1024m" || sluice.Environment["GOMEMLIMIT"] != "921MiB" {
		t.Errorf("GOMEMLIMIT=%s is not nine tenths of %s", sluice.Environment["GOMEMLIMIT"], sluice.MemLimit)
	}
	if _, profiled := sluice.Environment["OTEL_TRACES_EXPORTER"]; !profiled {
		t.Error("no spans are sent")
	}
}

// Every part of a pipeline is described, and the collector listens where Sluice sends.
func TestCollectorTakesWhatSluiceSends(t *testing.T) {
	collector := readYAML[struct {
		Receivers, Processors, Exporters map[string]map[string]any
		Service                          struct {
			Pipelines map[string]struct{ Receivers, Processors, Exporters []string }
		}
	}](t, "collector.yaml")
	for name, pipeline := range collector.Service.Pipelines {
		for _, list := range []struct {
			used  []string
			known map[string]map[string]any
		}{
			{pipeline.Receivers, collector.Receivers}, {pipeline.Processors, collector.Processors}, {pipeline.Exporters, collector.Exporters},
		} {
			for _, part := range list.used {
				if _, ok := list.known[part]; !ok {
					t.Errorf("pipeline %s uses %s, which is not described", name, part)
				}
			}
		}
		if !slices.Equal(pipeline.Processors, []string{"memory_limiter", "batch"}) {
			t.Errorf("pipeline %s runs %q, want the limiter before all else", name, pipeline.Processors)
		}
	}
	if len(collector.Service.Pipelines["traces"].Receivers) == 0 {
		t.Error("no receiver takes spans")
	}
	endpoint := readYAML[composition](t, "compose.yaml").Services["sluice"].Environment["OTEL_EXPORTER_OTLP_ENDPOINT"]
	protocols, _ := collector.Receivers["otlp"]["protocols"].(map[string]any)
	overHTTP, _ := protocols["http"].(map[string]any)
	if _, port, _ := strings.Cut(strings.TrimPrefix(endpoint, "http://"), ":"); overHTTP["endpoint"] != "0.0.0.0:"+port {
		t.Errorf("Sluice sends to %s, the collector listens at %v", endpoint, overHTTP["endpoint"])
	}
}

func parseDuration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
