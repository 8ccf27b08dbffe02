package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestTheRouteLeadsToTheChartsService, by its name and port as the chart makes it with its defaults.
func TestTheRouteLeadsToTheChartsService(t *testing.T) {
	made, err := render(t, "-f", deployed+"values/least.yaml")
	must(t, err)
	document, _, _ := strings.Cut(readRoot(t, "deploy/ingress/httproute.yaml"), "\n---\n")
	var route struct {
		Spec struct {
			Rules []struct {
				Backends []struct {
					Name string
					Port int
				} `yaml:"backendRefs"`
			}
		}
	}
	must(t, yaml.Unmarshal([]byte(document), &route))
	service := made["Service"]
	if len(route.Spec.Rules) != 1 || len(route.Spec.Rules[0].Backends) != 1 || len(service.Spec.Ports) != 1 {
		t.Fatalf("the route %+v, the Service %+v", route, service.Spec.Ports)
	}
	if to := route.Spec.Rules[0].Backends[0]; to.Name != service.Metadata.Name || to.Port != service.Spec.Ports[0].Port {
		t.Errorf("the route leads to %s:%d, the Service is %s:%d", to.Name, to.Port, service.Metadata.Name, service.Spec.Ports[0].Port)
	}
}

// TestTheFirstHourTriesOnlyAddressesThatAreAllowed: check --through takes each of the page's addresses, and asks for the key next.
func TestTheFirstHourTriesOnlyAddressesThatAreAllowed(t *testing.T) {
	_, section, _ := strings.Cut(readRoot(t, "docs/start.md"), "\n## 2. ")
	section, _, _ = strings.Cut(section, "\n## ")
	addresses := regexp.MustCompile("https?://[^\\s`}]+").FindAllString(section, -1)
	if len(addresses) < 2 {
		t.Fatalf("the page tries %q", addresses)
	}
	for _, address := range addresses {
		if got := command(t.Context(), nil, "check", "--through", address); !strings.Contains(got.stderr, "--key: required") {
			t.Errorf("%s: %s", address, got.stderr)
		}
	}
}

// reachesAdmin reports whether the chart's policy lets anything connect to the admin port.
func reachesAdmin(made map[string]manifest) bool {
	for _, rule := range made["NetworkPolicy"].Spec.Ingress {
		if rule.Ports[0].Port == 8081 && len(rule.From) > 0 {
			return true
		}
	}
	return false
}

// TestAlertsAndTheAdapterHaveTargets: examples with alerts, or with an autoscaler by requests in flight, let the operator find the pods
// and reach them, and the first hour names what they set for that.
func TestAlertsAndTheAdapterHaveTargets(t *testing.T) {
	found := 0
	for _, file := range chartValues(t) {
		made, err := render(t, "-f", file)
		must(t, err)
		_, alerts := made["PrometheusRule"]
		byRequests := slices.ContainsFunc(made["HorizontalPodAutoscaler"].Spec.Metrics,
			func(metric any) bool { return metric.(map[string]any)["type"] == "Pods" })
		if !alerts && !byRequests {
			continue
		}
		found++
		if _, ok := made["PodMonitor"]; !ok || !reachesAdmin(made) {
			t.Errorf("%s: Prometheus has no targets: a PodMonitor %v, the policy %+v", file, ok, made["NetworkPolicy"].Spec.Ingress)
		}
	}
	if found != 3 {
		t.Errorf("%d examples need Prometheus, want 3", found)
	}
	_, section, _ := strings.Cut(readRoot(t, "docs/start.md"), "\n## 5. What to alert on\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, value := range []string{"monitoring.rules", "monitoring.podMonitor", "networkPolicy.adminFrom"} {
		if !strings.Contains(section, "`"+value+"`") {
			t.Errorf("the first hour does not name %s", value)
		}
	}
}

// notes are what helm prints after an installation. helm template leaves them out, so a template of a copy has them.
func notes(t *testing.T, args ...string) string {
	t.Helper()
	chart := t.TempDir()
	must(t, os.CopyFS(chart, os.DirFS(deployed+"chart")))
	must(t, os.WriteFile(filepath.Join(chart, "templates", "notes.yaml"), []byte(`kind: Notes
data:
  text: |
    {{- include (print $.Template.BasePath "/NOTES.txt") . | nindent 4 }}
`), 0o600))
	text, err := deployTool(t, "helm")(append([]string{"template", "sluice", chart, "-s", "templates/notes.yaml"}, args...)...)
	must(t, err)
	var m manifest
	must(t, yaml.Unmarshal([]byte(text), &m))
	return m.Data["text"]
}

func TestTheNotesWarnOfAlertsWithoutTargets(t *testing.T) {
	for set, want := range map[string]bool{"": false, "monitoring.rules=true": true,
		"monitoring.rules=true,monitoring.podMonitor=true": false} {
		text := notes(t, "-f", deployed+"values/least.yaml", "--set", set)
		if warned := strings.Contains(text, "WARNING: monitoring.rules without monitoring.podMonitor"); warned != want ||
			!strings.HasPrefix(text, "Teams reach Sluice at ") {
			t.Errorf("%q: %s", set, text)
		}
	}
}
