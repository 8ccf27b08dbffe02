package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"sluice/cmd/sluice/settings"
)

// manifest is one document of the chart's output, and pod the part of the Deployment's template that the tests read.
type manifest struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Data map[string]string
	Spec struct {
		Replicas       int
		MinReplicas    int `yaml:"minReplicas"`
		MaxReplicas    int `yaml:"maxReplicas"`
		Metrics        []any
		Target         struct{ Kind, Name string } `yaml:"scaleTargetRef"`
		MaxUnavailable int                         `yaml:"maxUnavailable"`
		Selector       any
		Strategy       struct{ Type string }
		Ports          []struct {
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		Groups  []any
		Ingress []struct {
			Ports []struct{ Port int }
			From  []any
		}
		Template podTemplate
		// Of a CronJob.
		Schedule    string
		JobTemplate struct {
			Spec struct {
				FailurePolicy any `yaml:"podFailurePolicy"`
				Template      podTemplate
			}
		} `yaml:"jobTemplate"`
	}
}

type podTemplate struct {
	Metadata struct{ Labels, Annotations map[string]string }
	Spec     pod
}

type pod struct {
	ServiceLinks *bool          `yaml:"enableServiceLinks"`
	MountsToken  *bool          `yaml:"automountServiceAccountToken"`
	GraceSeconds int            `yaml:"terminationGracePeriodSeconds"`
	Security     map[string]any `yaml:"securityContext"`
	Inits        []container    `yaml:"initContainers"`
	Containers   []container
	Volumes      []volume
	Spread       []any `yaml:"topologySpreadConstraints"`
}

type container struct {
	Name  string
	Image string
	Args  []string
	Env   []struct {
		Name, Value string
		ValueFrom   any `yaml:"valueFrom"`
	}
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	Readiness probe          `yaml:"readinessProbe"`
	Liveness  probe          `yaml:"livenessProbe"`
	Security  map[string]any `yaml:"securityContext"`
	Resources struct{ Limits map[string]string }
	Mounts    []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		SubPath   string `yaml:"subPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type volume struct {
	Name   string
	Secret *struct {
		SecretName  string `yaml:"secretName"`
		DefaultMode int    `yaml:"defaultMode"`
		Items       []struct{ Key, Path string }
	}
	ConfigMap *struct{ Name string } `yaml:"configMap"`
	EmptyDir  *struct{}              `yaml:"emptyDir"`
	Claim     *struct {
		Name string `yaml:"claimName"`
	} `yaml:"persistentVolumeClaim"`
}

// render returns helm template's output for the chart with a values file and more.
func render(t *testing.T, args ...string) (map[string]manifest, error) {
	t.Helper()
	text, err := deployTool(t, "helm")(append([]string{"template", "sluice", deployed + "chart"}, args...)...)
	if err != nil {
		return nil, err
	}
	made := make(map[string]manifest)
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var m manifest
		if err := yaml.Unmarshal([]byte(doc+"\n"), &m); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		name := m.Kind
		if m.Kind == "ConfigMap" {
			name = m.Metadata.Name
		}
		made[name] = m
	}
	return made, nil
}

// chartValues are the chart's values files; each renders, and Sluice accepts the result.
func chartValues(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(deployed + "values/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("values files %q, %v", files, err)
	}
	return files
}

// By the page's command the chart brings the reader's own teams file, image and service.
func TestChartIsInstalledAsThePageSays(t *testing.T) {
	said := regexp.MustCompile(`(?s)\nhelm install (sluice .+?)\n` + "```").FindStringSubmatch(readRoot(t, "docs/operating.md"))
	if said == nil {
		t.Fatal("docs/operating.md does not install the chart")
	}
	args := strings.NewReplacer("\\\n", "", "deploy/", deployed, "=teams.yaml", "="+write(t, someTeams)).Replace(said[1])
	made, err := deployTool(t, "helm")(append([]string{"template"}, strings.Fields(args)...)...)
	must(t, err)
	for _, want := range []string{"sha256: " + testsDigest, `image: "registry.example/sluice:0.1.0"`,
		`value: "https://service.example/api/v1"`} {
		if !strings.Contains(made, want) {
			t.Errorf("%s is missing in\n%s", want, made)
		}
	}
}

func TestChartPassesTheLinter(t *testing.T) {
	helm := deployTool(t, "helm")
	for _, file := range chartValues(t) {
		if _, err := helm("lint", "--strict", deployed+"chart", "-f", file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestChartScales: the autoscaler has the Deployment, by both measures, and the most that it runs is what Sluice is told.
func TestChartScales(t *testing.T) {
	made, err := render(t, "-f", deployed+"values/autoscale.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scaler, deployment := made["HorizontalPodAutoscaler"].Spec, made["Deployment"]
	if scaler.Target.Kind != "Deployment" || scaler.Target.Name != deployment.Metadata.Name || scaler.MinReplicas != 3 ||
		scaler.MaxReplicas != 10 || len(scaler.Metrics) != 2 {
		t.Errorf("%+v", scaler)
	}
	if deployment.Spec.Replicas != 0 || !slices.Contains(environOf(deployment.Spec.Template.Spec.Containers[0]), "SLUICE_REPLICAS=10") {
		t.Errorf("the Deployment has %d replicas, and %v", deployment.Spec.Replicas, environOf(deployment.Spec.Template.Spec.Containers[0]))
	}
	if n := len(deployment.Spec.Template.Spec.Spread); n != 2 {
		t.Errorf("pods spread over %d kinds of places, want nodes and zones", n)
	}
	if made, err = render(t, "-f", deployed+"values/replicas.yaml"); err != nil || made["HorizontalPodAutoscaler"].Kind != "" {
		t.Errorf("an autoscaler by default: %v", err)
	}
}

// Numbers reach Sluice as written, whatever YAML makes of them.
func TestChartWritesValuesAsTheyWere(t *testing.T) {
	file := write(t, "settings: {MAX_BODY: 67108864, ADMIN_PPROF: true, RULES: 'text.top_p=off'}\notel: {TRACES_SAMPLER_ARG: 0.05, "+
		"BSP_MAX_QUEUE_SIZE: 2048}\n")
	made, err := render(t, "-f", deployed+"values/least.yaml", "-f", file)
	if err != nil {
		t.Fatal(err)
	}
	environ := environOf(made["Deployment"].Spec.Template.Spec.Containers[0])
	for _, want := range []string{
		"SLUICE_MAX_BODY=67108864", "SLUICE_ADMIN_PPROF=true", "SLUICE_RULES=text.top_p=off", "OTEL_TRACES_SAMPLER_ARG=0.05",
		"OTEL_BSP_MAX_QUEUE_SIZE=2048",
	} {
		if !slices.Contains(environ, want) {
			t.Errorf("want %s in %q", want, environ)
		}
	}
}

func TestChartRefusesWhatCannotWork(t *testing.T) {
	for set, want := range map[string]string{
		"upstream.url=":                        "upstream.url is required",
		"upstream.url=https://service.example": "upstream",
		"upstream.existingSecret=":             "upstream.existingSecret is required",
		"accounts.existingSecret=a":            "upstream.existingSecret is required",
		"teams.inline=":                        "teams: one of",
		"teams.existingSecret=other":           "teams: one of",
		"replicaCount=2":                       "redis.existingSecret",
		"autoscaling.enabled=true":             "redis.existingSecret",
		"autoscaling.enabled=true,redis.existingSecret=r,autoscaling.minReplicas=11": "minReplicas",
		"autoscaling.enabled=true,redis.existingSecret=r,autoscaling.cpuPercent=0":   "requestsInFlight is required",
		"image.digest=sha256:0f":                                      "digest",
		"image.digest=sha512:" + strings.Repeat("0f", 32):             "digest",
		"replicaCount=0":                                              "replicaCount",
		"resources.limits.memory=null":                                "resources.limits.memory is required",
		"resources.limits.memory=1.5Gi":                               "resources.limits.memory",
		"settings.POLL_INTERVALL=5s":                                  "POLL_INTERVALL",
		"settings.REPLICAS=2":                                         "REPLICAS",
		"settings.UPSTREAM_KEY=sk-upstream":                           "UPSTREAM_KEY",
		"otel.EXPORTER_OTLP_HEADERS=x=secret":                         "EXPORTER_OTLP_HEADERS",
		"shutdown.spareSeconds=24":                                    "spareSeconds",
		"redis.url=redis://:password@redis:6379/":                     "url",
		"settings.STATE_DIR=/tmp":                                     "STATE_DIR",
		"reconcile.schedule=@daily,reconcile.existingClaim=bills":     "redis.existingSecret",
		"reconcile.schedule=@daily,redis.existingSecret=r":            "existingClaim or fetch",
		"reconcile.tolerance=5":                                       "tolerance",
		"replicaCount=2,redis.existingSecret=r,state.existingClaim=c": "state.existingClaim",
	} {
		if _, err := render(t, "-f", deployed+"values/least.yaml", "--set", set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a refusal with %q", set, err, want)
		}
	}
}

// The admin port takes no token: only listed clients reach it, by default none; all reach the teams' port. The console's is just
// as closed.
func TestChartConfinesTheAdminPort(t *testing.T) {
	made, err := render(t, "-f", deployed+"values/replicas.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range made["NetworkPolicy"].Spec.Ingress {
		if open := len(rule.From) == 0; len(rule.Ports) != 1 || open != (rule.Ports[0].Port == 8080) {
			t.Errorf("the policy admits %+v", rule)
		}
	}
	if n := len(made["NetworkPolicy"].Spec.Ingress); n != 2 {
		t.Errorf("the policy has %d rules, want one for each port", n)
	}
	made, err = render(t, "-f", deployed+"values/replicas.yaml", "--set", "networkPolicy.adminFrom=null")
	if err != nil {
		t.Fatal(err)
	}
	if rules := made["NetworkPolicy"].Spec.Ingress; len(rules) != 1 || rules[0].Ports[0].Port != 8080 {
		t.Errorf("without listed clients the policy admits %+v", rules)
	}
	made, err = render(t, "-f", deployed+"values/least.yaml", "--set",
		"settings.CONSOLE_LISTEN=:8082,networkPolicy.consoleFrom[0].podSelector.matchLabels.app=proxy")
	if err != nil {
		t.Fatal(err)
	}
	if rules := made["NetworkPolicy"].Spec.Ingress; len(rules) != 2 || rules[0].Ports[0].Port != 8080 || rules[1].Ports[0].Port != 8082 ||
		len(rules[1].From) != 1 {
		t.Errorf("with a console the policy admits %+v", rules)
	}
}

// The policy is on unless the operator switches it off.
func TestChartHasANetworkPolicyByDefault(t *testing.T) {
	values := readYAML[struct {
		NetworkPolicy struct {
			Enabled   bool
			AdminFrom []any `yaml:"adminFrom"`
		} `yaml:"networkPolicy"`
	}](t, "chart/values.yaml")
	if !values.NetworkPolicy.Enabled || len(values.NetworkPolicy.AdminFrom) != 0 {
		t.Errorf("the default is %+v, want the policy on, and nobody at the admin port", values.NetworkPolicy)
	}
}

// The operator can set every setting through the chart except those that the chart sets itself.
func TestChartKnowsEverySetting(t *testing.T) {
	var schema struct {
		Properties struct {
			Settings struct {
				PropertyNames struct{ Enum []string } `json:"propertyNames"`
			} `json:"settings"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(readRoot(t, "deploy/chart/values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	known := schema.Properties.Settings.PropertyNames.Enum
	for _, match := range regexp.MustCompile(`(?m)(?:^  |set \$own )"([A-Z_]+)"`).
		FindAllStringSubmatch(readRoot(t, "deploy/chart/templates/_pod.tpl"), -1) {
		known = append(known, match[1])
	}
	for _, secret := range settings.Secrets {
		known = append(known, strings.TrimPrefix(secret, settings.Prefix))
	}
	for i := range known {
		known[i] = settings.Prefix + known[i]
	}
	slices.Sort(known)
	if diff := cmp.Diff(slices.Sorted(slices.Values(settings.Names)), known); diff != "" {
		t.Errorf("settings and the chart differ (-settings +chart):\n%s", diff)
	}
}

// The alerts and the dashboard that the chart installs are the files themselves.
func TestChartCarriesAlertsAndDashboard(t *testing.T) {
	made, err := render(t, "-f", deployed+"values/replicas.yaml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := readYAML[struct{ Groups []any }](t, "chart/files/alerts.yml").Groups
	if diff := cmp.Diff(alerts, made["PrometheusRule"].Spec.Groups); diff != "" || len(alerts) == 0 {
		t.Errorf("alerts (-file +chart):\n%s", diff)
	}
	dashboard := readRoot(t, "deploy/chart/files/dashboard.json")
	if diff := cmp.Diff(dashboard, made["sluice-dashboard"].Data["sluice.json"]); diff != "" {
		t.Errorf("dashboard (-file +chart):\n%s", diff)
	}
	if _, ok := made["PodMonitor"]; !ok {
		t.Error("no PodMonitor")
	}
	if annotations := made["Deployment"].Spec.Template.Metadata.Annotations; annotations["prometheus.io/scrape"] != "" {
		t.Errorf("scraped twice: %v", annotations)
	}
}

// The reconciliation is off by default. Its pods are as confined as the gateway's, no Service selects them, and sluice accepts their
// command line.
func TestChartReconciles(t *testing.T) {
	if made, err := render(t, "-f", deployed+"values/replicas.yaml"); err != nil || made["CronJob"].Spec.Schedule != "" {
		t.Errorf("a CronJob by default: %+v, %v", made["CronJob"], err)
	}
	made, err := render(t, "-f", deployed+"values/reconcile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	job, gateway := made["CronJob"].Spec, made["Deployment"].Spec.Template
	p := job.JobTemplate.Spec.Template
	if job.Schedule != "0 6 * * *" || job.JobTemplate.Spec.FailurePolicy == nil || p.Spec.MountsToken == nil || *p.Spec.MountsToken {
		t.Errorf("%+v", job)
	}
	if p.Metadata.Labels["app.kubernetes.io/name"] == gateway.Metadata.Labels["app.kubernetes.io/name"] {
		t.Error("the Service would send requests to the job")
	}
	if diff := cmp.Diff(gateway.Spec.Security, p.Spec.Security); diff != "" {
		t.Errorf("the job's pod is less confined (-gateway +job):\n%s", diff)
	}
	for _, c := range append(p.Spec.Inits, p.Spec.Containers...) {
		if diff := cmp.Diff(gateway.Spec.Containers[0].Security, c.Security); diff != "" {
			t.Errorf("%s is less confined (-gateway +job):\n%s", c.Name, diff)
		}
	}
	args := p.Spec.Containers[0].Args
	want := []string{"reconcile", "/bill/bill.csv", "--map=/etc/sluice/map/map.yaml", "--tolerance=0.5%", "--report=36h"}
	if diff := cmp.Diff(want, args); diff != "" {
		t.Errorf("the command (-want +chart):\n%s", diff)
	}
	environ := append(mounted(t, p.Spec), "SLUICE_REDIS_URL=redis://127.0.0.1:1", "SLUICE_REDIS_URL_FILE=")
	if got := command(t.Context(), environ, args...); got.code != exitFaulty || strings.Contains(got.stderr, "--help") {
		t.Errorf("%+v", got) // it asks for the bill
	}
	shown := regexp.MustCompile("(?s)\n```yaml values\n(.+?)```\n").FindStringSubmatch(readRoot(t, "docs/money.md"))
	if made, err = render(t, "-f", deployed+"values/replicas.yaml", "-f", write(t, shown[1])); err != nil ||
		made["CronJob"].Spec.Schedule == "" {
		t.Errorf("the values of docs/money.md: %v", err)
	}
	if len(p.Spec.Inits) != 1 || p.Spec.Inits[0].Mounts[0].MountPath != "/bill" {
		t.Errorf("%+v", p.Spec.Inits)
	}
}
