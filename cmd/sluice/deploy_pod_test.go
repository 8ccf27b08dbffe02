package main

import (
	stdcmp "cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/cmd/sluice/settings"
)

func TestChartMakesAPodThatIsSafe(t *testing.T) {
	for _, file := range chartValues(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			made, err := render(t, "-f", file)
			if err != nil {
				t.Fatal(err)
			}
			p := made["Deployment"].Spec.Template.Spec
			if p.ServiceLinks == nil || *p.ServiceLinks || p.MountsToken == nil || *p.MountsToken {
				t.Error("service links or a token are put into the pod")
			}
			c := p.Containers[0]
			want := map[string]any{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
				"capabilities": map[string]any{"drop": []any{"ALL"}}}
			if diff := cmp.Diff(want, c.Security); diff != "" {
				t.Errorf("security context (-want +got):\n%s", diff)
			}
			if p.Security["runAsNonRoot"] != true || fmt.Sprint(p.Security["runAsUser"]) != "65532" || fmt.Sprint(p.Security["fsGroup"]) != "65532" {
				t.Errorf("the pod runs as %v", p.Security)
			}
			secrets := 0
			for _, v := range p.Volumes {
				if v.Secret != nil {
					secrets++
					if v.Secret.DefaultMode&0o007 != 0 || v.Secret.DefaultMode == 0 {
						t.Errorf("volume %s is readable by all: %o", v.Name, v.Secret.DefaultMode)
					}
				}
			}
			if secrets == 0 {
				t.Error("no Secret is mounted")
			}
			for _, variable := range c.Env {
				if slices.Contains(settings.Secrets, variable.Name) || variable.ValueFrom != nil {
					t.Errorf("%s is in the environment; secrets are mounted", variable.Name)
				}
			}
		})
	}
}

func TestChartProbesTheAdminPortAndKeepsItInside(t *testing.T) {
	for _, file := range chartValues(t) {
		made, err := render(t, "-f", file)
		if err != nil {
			t.Fatal(err)
		}
		c := made["Deployment"].Spec.Template.Spec.Containers[0]
		if c.Readiness.HTTPGet.Path != "/readyz" || c.Liveness.HTTPGet.Path != "/healthz" || c.Readiness.HTTPGet.Port != "admin" ||
			c.Liveness.HTTPGet.Port != "admin" {
			t.Errorf("%s: probes %+v %+v", file, c.Readiness, c.Liveness)
		}
		named := false
		for _, port := range c.Ports {
			named = named || port.Name == "admin" && port.ContainerPort == 8081
		}
		if !named || !slices.Contains(environOf(c), "SLUICE_ADMIN_LISTEN=:8081") {
			t.Errorf("%s: the admin listener is not at port admin: %+v", file, c.Ports)
		}
		for _, port := range made["Service"].Spec.Ports {
			if port.TargetPort != "http" && port.TargetPort != "https" {
				t.Errorf("%s: the Service leads to %s", file, port.TargetPort)
			}
		}
		budget := made["PodDisruptionBudget"]
		if diff := cmp.Diff(made["Deployment"].Spec.Selector, budget.Spec.Selector); diff != "" || budget.Spec.MaxUnavailable != 1 {
			t.Errorf("%s: the disruption budget %+v does not select the Deployment's pods", file, budget.Spec)
		}
	}
}

func environOf(c container) []string {
	var environ []string
	for _, variable := range c.Env {
		environ = append(environ, variable.Name+"="+variable.Value)
	}
	return environ
}

// mounted adapts the container's environment to this machine: each mount is a directory with the pod's files.
func mounted(t *testing.T, p pod) []string {
	t.Helper()
	certificate, key, _ := selfSigned(t)
	contents := map[string]string{
		"teams.yaml": someTeams, "key": "sk-upstream\n", "url": "redis://redis:6379", "tls.crt": readFileText(t, certificate),
		"tls.key": readFileText(t, key), "accounts.yaml": "accounts: [{id: main, key_file: main}]", "main": "sk-upstream\n",
		"upstream-proxy": "http://user:password@proxy.example:3128\n", "client-secret": "secret\n",
	}
	environ := environOf(p.Containers[0])
	for _, mount := range p.Containers[0].Mounts {
		if mount.SubPath != "" || mount.ReadOnly == (mount.Name == "state") {
			t.Errorf("%s is mounted by a sub-path, or to be written: %+v", mount.Name, mount)
		}
		at := slices.IndexFunc(p.Volumes, func(v volume) bool { return v.Name == mount.Name })
		if at < 0 {
			t.Fatalf("there is no volume %s", mount.Name)
		}
		dir := t.TempDir()
		files := map[string][]string{"teams": {"teams.yaml"}, "tls": {"tls.crt", "tls.key"}, "accounts": {"accounts.yaml", "main"},
			"files": {"upstream-proxy", "client-secret"}}[mount.Name]
		if v := p.Volumes[at]; v.Secret != nil {
			for _, item := range v.Secret.Items {
				files = append(files, item.Path)
			}
		}
		for _, file := range files {
			rewrite(t, filepath.Join(dir, file), contents[file])
		}
		for i := range environ {
			environ[i] = strings.Replace(environ[i]+"/", "="+mount.MountPath+"/", "="+dir+"/", 1)
			environ[i] = strings.TrimSuffix(environ[i], "/")
		}
	}
	return environ
}

func readFileText(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The chart gives the pod a configuration that Sluice accepts, and its limits agree with each other.
func TestChartConfiguresSluice(t *testing.T) {
	for _, file := range chartValues(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			made, err := render(t, "-f", file)
			if err != nil {
				t.Fatal(err)
			}
			deployment := made["Deployment"].Spec
			p := deployment.Template.Spec
			c, err := loadConfiguration(mounted(t, p))
			if err != nil {
				t.Fatal(err)
			}
			if most := max(deployment.Replicas, made["HorizontalPodAutoscaler"].Spec.MaxReplicas); c.Replicas != most {
				t.Errorf("SLUICE_REPLICAS=%d, but the chart has %d", c.Replicas, most)
			}
			grace := time.Duration(p.GraceSeconds) * time.Second
			if grace < c.ShutdownDelay+c.ShutdownGrace+afterRequests || c.ShutdownGrace < 10*time.Minute ||
				c.ShutdownDelay < 5*time.Second {
				t.Errorf("the pod is killed after %v, while requests come for %v and run for %v", grace, c.ShutdownDelay, c.ShutdownGrace)
			}
			limit := quantity(t, p.Containers[0].Resources.Limits["memory"])
			if share := goMemory(t, p.Containers[0]) / limit; share < 0.85 || share > 0.92 {
				t.Errorf("GOMEMLIMIT is %.2f of the container's limit", share)
			}
			if float64(c.BodyBudget)*1.5 > limit {
				t.Errorf("a body budget of %v in a container of %v", c.BodyBudget, limit)
			}
		})
	}
}

// TestChartMountsAPlaceForTheState where Sluice writes: a copy of the directory beside Redis, or the directory in a claim.
func TestChartMountsAPlaceForTheState(t *testing.T) {
	for _, tt := range []struct {
		about, file string
		set         []string
		volume      string // of the state
		copies      bool   // of the directory in Redis
		strategy    string
	}{
		{"in memory", "least.yaml", nil, "none", false, "RollingUpdate"},
		{"Redis", "replicas.yaml", nil, "emptyDir", true, "RollingUpdate"},
		{"a claim", "least.yaml", []string{"state.existingClaim=sluice-state"}, "sluice-state", false, "Recreate"},
		{"Redis and a claim", "replicas.yaml", []string{"replicaCount=1", "state.existingClaim=sluice-state"}, "sluice-state", true, "Recreate"},
	} {
		args := []string{"-f", deployed + "values/" + tt.file}
		for _, value := range tt.set {
			args = append(args, "--set", value)
		}
		made, err := render(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		deployment := made["Deployment"].Spec
		p, volume := deployment.Template.Spec, "none"
		for _, v := range p.Volumes {
			switch {
			case v.Name == "state" && v.Claim != nil:
				volume = v.Claim.Name
			case v.Name == "state" && v.EmptyDir != nil:
				volume = "emptyDir"
			}
		}
		c, err := loadConfiguration(mounted(t, p))
		if err != nil {
			t.Fatal(err)
		}
		if (c.StateDir != "") != tt.copies || volume != tt.volume || deployment.Strategy.Type != tt.strategy {
			t.Errorf("%s: volume %s, a copy in %q, strategy %s", tt.about, volume, c.StateDir, deployment.Strategy.Type)
		}
		if written := c.DirectoryFile != ""; written != (volume == "sluice-state" && !tt.copies) {
			t.Errorf("%s: the directory is in %q", tt.about, c.DirectoryFile)
		}
		for _, place := range []string{c.StateDir, filepath.Dir(c.DirectoryFile)} {
			if info, err := os.Stat(stdcmp.Or(place, ".")); err != nil || !info.IsDir() {
				t.Errorf("%s: %s is not mounted: %v", tt.about, place, err)
			}
		}
		if c.StateDir == "" {
			for _, warning := range c.warnings {
				if strings.Contains(warning, "STATE_DIR") {
					t.Errorf("%s: %s", tt.about, warning)
				}
			}
		}
	}
}

// quantity reads a memory quantity of Kubernetes.
func quantity(t *testing.T, text string) float64 {
	t.Helper()
	number := strings.TrimRight(text, "GMKi")
	n, err := strconv.ParseFloat(number, 64)
	factor := map[string]float64{"": 1, "M": 1e6, "G": 1e9, "Mi": 1 << 20, "Gi": 1 << 30}[strings.TrimPrefix(text, number)]
	if err != nil || factor == 0 {
		t.Fatalf("memory limit %q", text)
	}
	return n * factor
}

func goMemory(t *testing.T, c container) float64 {
	t.Helper()
	for _, assignment := range environOf(c) {
		if text, ok := strings.CutPrefix(assignment, "GOMEMLIMIT="); ok {
			return quantity(t, text)
		}
	}
	t.Fatal("there is no GOMEMLIMIT")
	return 0
}
