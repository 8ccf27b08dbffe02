package main

import (
	"regexp"
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
