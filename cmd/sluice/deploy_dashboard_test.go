package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is the part of Grafana's file that the tests read.
type dashboard struct {
	Panels     []panel
	Templating struct {
		List []struct {
			Name, Type, Definition string
			Datasource             datasource
		}
	}
}

type panel struct {
	ID          int
	Type, Title string
	Datasource  datasource
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ RefID, Expr, LegendFormat string }
}

type datasource struct{ Type, UID string }

// variables replaces each of the dashboard's variables by a value, as Grafana does.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__range", "3h", "$team", ".*", "$instance", ".*")

// legendLabel is what Grafana replaces in a legend.
var legendLabel = regexp.MustCompile(`\{\{\w+\}\}`)

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(readRoot(t, "deploy/chart/files/dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDashboardPanelsAreWhole(t *testing.T) {
	ids, titles := make(map[int]bool), make(map[string]bool)
	for _, p := range readDashboard(t).Panels {
		if p.ID == 0 || ids[p.ID] {
			t.Errorf("panel %q has the id %d of another", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d shows nothing", p.ID)
		}
		if p.Datasource != (datasource{"prometheus", "${datasource}"}) {
			t.Errorf("panel %q queries %+v, want the dashboard's variable", p.Title, p.Datasource)
		}
		titles[p.Title] = true
		refs := make(map[string]bool)
		for _, target := range p.Targets {
			if target.Expr == "" || refs[target.RefID] {
				t.Errorf("panel %q: query %q is empty or twice", p.Title, target.RefID)
			}
			refs[target.RefID] = true
			if rest := legendLabel.ReplaceAllString(target.LegendFormat, ""); strings.ContainsAny(rest, "{}") {
				t.Errorf("panel %q: Grafana does not replace %q: a label is {{so}}", p.Title, target.LegendFormat)
			}
			if rest := variables.Replace(target.Expr); strings.Contains(rest, "$") {
				t.Errorf("panel %q uses an unknown variable: %s", p.Title, rest)
			}
		}
	}
	if len(titles) < 30 {
		t.Errorf("%d titles: panels share them", len(titles))
	}
}

func TestDashboardPanelsDoNotOverlap(t *testing.T) {
	taken := make(map[[2]int]string)
	for _, p := range readDashboard(t).Panels {
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("panel %q is outside the grid: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("panel %q lies over %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// The variables exist, and their queries name metrics and labels that panels use.
func TestDashboardVariables(t *testing.T) {
	d := readDashboard(t)
	var names, exprs []string
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			exprs = append(exprs, target.Expr)
		}
	}
	all := strings.Join(exprs, "\n")
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
		if v.Type != "query" {
			continue
		}
		match := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Definition)
		if match == nil || !strings.Contains(all, match[1]) || !strings.Contains(all, match[2]) {
			t.Errorf("variable %s lists %q, which no panel shows", v.Name, v.Definition)
		}
	}
	if !slices.Equal(names, []string{"datasource", "team", "instance"}) {
		t.Errorf("variables %q", names)
	}
}

// Grafana's provisioning names the datasource and the dashboard at the paths that the composition mounts.
func TestGrafanaIsProvisioned(t *testing.T) {
	volumes := readYAML[composition](t, "compose.yaml").Services["grafana"].Volumes
	providers := readYAML[struct {
		Providers []struct{ Options struct{ Path string } }
	}](t, "grafana/dashboards.yml").Providers
	for _, want := range []string{
		"./grafana/datasources.yml:/etc/grafana/provisioning/datasources/sluice.yml:ro",
		"./grafana/dashboards.yml:/etc/grafana/provisioning/dashboards/sluice.yml:ro",
		"./chart/files/dashboard.json:" + providers[0].Options.Path + "/sluice.json:ro",
	} {
		if !slices.Contains(volumes, want) {
			t.Errorf("grafana lacks the volume %s", want)
		}
	}
	sources := readYAML[struct {
		Datasources []struct{ Type, URL string }
	}](t, "grafana/datasources.yml").Datasources
	if len(sources) != 1 || sources[0].Type != "prometheus" || sources[0].URL != "http://prometheus:9090" {
		t.Errorf("datasources %+v", sources)
	}
}
