package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/cmd/sluice/settings"
)

// TestChartPinsItsImage: the digest is added to the image of every pod of the chart, and to nothing else; labels have what they may of the
// tag.
func TestChartPinsItsImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0f", 32)
	long := strings.Repeat("0123456789", 6) + "ab_.0"
	for _, tt := range []struct{ set, image, label string }{
		{"", "sluice:0.1.0", "0.1.0"},
		{"image.digest=" + digest, "sluice:0.1.0@" + digest, "0.1.0"},
		{"image.tag=1.2.3,image.digest=" + digest, "sluice:1.2.3@" + digest, "1.2.3"},
		{"image.tag=1.2.3@" + digest, "sluice:1.2.3@" + digest, "1.2.3-sha256-" + strings.Repeat("0f", 25)},
		{"image.tag=_1.2+a.", "sluice:_1.2+a.", "1.2-a"},
		{"image.tag=" + long, "sluice:" + long, long[:62]},
	} {
		made, err := render(t, "-f", deployed+"values/reconcile.yaml", "--set", tt.set)
		must(t, err)
		for kind, pod := range map[string]podTemplate{"Deployment": made["Deployment"].Spec.Template,
			"CronJob": made["CronJob"].Spec.JobTemplate.Spec.Template} {
			if got := pod.Spec.Containers[0].Image; got != tt.image {
				t.Errorf("%s: the %s runs %s, want %s", tt.set, kind, got, tt.image)
			}
		}
		allowed := regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z._-]{0,61}[0-9A-Za-z])?$`)
		for kind, m := range made {
			if label := m.Metadata.Labels["app.kubernetes.io/version"]; label != tt.label || !allowed.MatchString(label) {
				t.Errorf("%s: the label of the %s is %q, want %q", tt.set, kind, label, tt.label)
			}
		}
	}
}

// TestChartTakesOffAsTheWord: in a values file a bare off is a boolean. Settings whose documented value is off get the word, others a
// boolean.
func TestChartTakesOffAsTheWord(t *testing.T) {
	words, booleans := 0, 0
	for _, row := range regexp.MustCompile("(?m)^\\| `SLUICE_([A-Z_]+)` \\| .+? \\| (.+?) \\|").
		FindAllStringSubmatch(readRoot(t, "docs/settings.md"), -1) {
		name, want := row[1], map[string]string{}
		switch {
		case strings.Contains(row[2], "`off`"):
			words++
			want = map[string]string{"off": "off", "false": "off", "'off'": "off"}
		case row[2] == "`true`, `false`":
			booleans++
			want = map[string]string{"off": "false", "on": "true", "false": "false", "true": "true"}
		}
		for written, value := range want {
			made, err := render(t, "-f", deployed+"values/least.yaml", "-f", write(t, fmt.Sprintf("settings: {%s: %s}\n", name, written)))
			must(t, err)
			c := made["Deployment"].Spec.Template.Spec.Containers[0]
			if environ := environOf(c); !slices.Contains(environ, "SLUICE_"+name+"="+value) {
				t.Errorf("%s: %s is not %s in %q", name, written, value, environ)
			}
		}
	}
	if words == 0 || booleans < 5 {
		t.Errorf("docs/settings.md has %d settings with off and %d booleans", words, booleans)
	}
}

// TestSecretsAreSetByFilesInTheChart: it refuses every secret's own form, and each place that explains its value settings names the file
// forms that it takes.
func TestSecretsAreSetByFilesInTheChart(t *testing.T) {
	places := map[string]string{
		"docs/start.md": "Settings that `deploy/compose.yaml` does not name", "docs/operating.md": "- `settings` takes",
		"deploy/chart/values.yaml": "# More settings",
	}
	taken := 0
	for _, secret := range settings.Secrets {
		name := strings.TrimPrefix(secret, settings.Prefix)
		if _, err := render(t, "-f", deployed+"values/least.yaml", "--set", "settings."+name+"=x"); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("the chart takes %s: %v", name, err)
		}
		if _, err := render(t, "-f", deployed+"values/least.yaml", "--set", "settings."+name+"_FILE=/etc/sluice/files/x"); err != nil {
			continue // the chart sets it itself
		}
		taken++
		for place, start := range places {
			_, text, found := strings.Cut(readRoot(t, place), "\n"+start)
			text = regexp.MustCompile(`\n(\n|- |settings:)`).Split(text, 2)[0]
			if !found || !strings.Contains(text, name+"_FILE") {
				t.Errorf("%s does not say that %s_FILE is the form that the chart takes: %s", place, name, text)
			}
		}
	}
	if taken != 2 {
		t.Errorf("the chart takes %d files of secrets, want the proxy's and the issuer's", taken)
	}
}
