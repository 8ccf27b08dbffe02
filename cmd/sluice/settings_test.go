package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/forms"
	"sluice/policy/limit"
)

// enough are the required variables.
var enough = []string{
	"SLUICE_UPSTREAM_URL=https://service.example/api/v1",
	"SLUICE_UPSTREAM_KEY=sk-upstream",
}

// with returns an environment of the required variables and some more.
func with(variables ...string) []string { return append(append([]string{}, enough...), variables...) }

// defaults are the default values by variable, as text.
func defaults() map[string]string {
	texts := make(map[string]string)
	for field := range reflect.TypeFor[settings.Settings]().Fields() {
		texts[settings.Prefix+field.Tag.Get("env")] = field.Tag.Get("envDefault")
	}
	return texts
}

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	s, err := settings.Load(enough)
	if err != nil {
		t.Fatal(err)
	}
	_, offset := time.Now().In(s.TaskTimezone).Zone()
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"LISTEN", s.Listen, ":8080"},
		{"ADMIN_LISTEN", s.AdminListen, "127.0.0.1:8081"},
		{"ADMIN_PPROF", s.AdminPprof, false},
		{"TRUSTED_PROXIES", s.TrustedProxies, []settings.Network(nil)},
		{"CORS_ORIGINS", s.CORSOrigins, []settings.Origin(nil)},
		{"RESULT_HOSTS", s.ResultHosts, []upstream.Host(nil)},
		{"RESULT_NETWORKS", s.ResultNetworks, []settings.Network(nil)},
		{"HOOK_NETWORKS", s.HookNetworks, []settings.Network(nil)},
		{"HEADER_PREFIX", s.HeaderPrefix, "X-Service-"},
		{"WORKSPACE", s.Workspace, "strip"},
		{"DATA_INSPECTION", s.DataInspection, "strip"},
		{"FORWARD_PATHS", s.ForwardPaths, []forms.Path(nil)},
		{"TEAMS_FILE", s.TeamsFile, "teams.yaml"},
		{"TEAMS_POLL", s.TeamsPoll, 500 * time.Millisecond},
		{"REDIS_TIMEOUT", s.RedisTimeout, 250 * time.Millisecond},
		{"ON_STATE_LOSS", s.OnStateLoss, "local"},
		{"OUTAGE_BRIDGE", s.OutageBridge, 10 * time.Minute},
		{"REPLICAS", s.Replicas, 1},
		{"POLL_INTERVAL", s.PollInterval, 5 * time.Second},
		{"TASK_QUERY_RATE", s.TaskQueryRate, 20},
		{"TASK_TTL", s.TaskTTL, 24 * time.Hour},
		{"TASK_TIMEZONE", offset, 8 * 60 * 60},
		{"MAX_BODY", s.MaxBody, settings.ByteSize(64 << 20)},
		{"BODY_BUDGET", s.BodyBudget, settings.ByteSize(512 << 20)},
		{"CONNECT_TIMEOUT", s.ConnectTimeout, 5 * time.Second},
		{"HEADER_TIMEOUT", s.HeaderTimeout, 300 * time.Second},
		{"IDLE_TIMEOUT", s.IdleTimeout, 300 * time.Second},
		{"WRITE_TIMEOUT", s.WriteTimeout, 30 * time.Second},
		{"SHUTDOWN_DELAY", s.ShutdownDelay, 5 * time.Second},
		{"SHUTDOWN_GRACE", s.ShutdownGrace, 30 * time.Second},
		{"SYNC_IMAGE_MODELS", s.SyncImageModels, []policy.Pattern{"llm-image*"}},
		{"EDIT_IMAGE_MODELS", s.EditImageModels, []policy.Pattern{"gen2.6-image*"}},
		{"THINKING_MODELS", s.ThinkingModels, []policy.Pattern(nil)},
		{"PROVIDER_NAME", s.ProviderName, "service"},
		{"TRACE_CONTEXT", s.TraceContext, "link"},
		{"TRACE_UPSTREAM", s.TraceUpstream, false},
		{"CAPTURE_CONTENT", s.CaptureContent, false},
		{"LOG_LEVEL", s.LogLevel, slog.LevelInfo},
		{"LOG_FORMAT", s.LogFormat, "json"},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s is %v by default, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestEverySettingSaysWhatIsAllowed(t *testing.T) {
	for _, name := range settings.Names {
		if name == settings.Prefix || settings.Allowed[name] == "" {
			t.Errorf("the field of %q lacks a tag", name)
		}
	}
}

func TestListsAreSeparatedByCommasAndBlanksDoNotMatter(t *testing.T) {
	s, err := settings.Load(with(
		"SLUICE_FORWARD_PATHS=uploads, services/embeddings=native",
		"SLUICE_VISION_MODELS=llm-vl-*, llm-omni*",
	))
	if err != nil {
		t.Fatal(err)
	}
	if want := []forms.Path{{Prefix: "uploads", Form: forms.Opaque},
		{Prefix: "services/embeddings", Form: forms.Native}}; !reflect.DeepEqual(s.ForwardPaths, want) {
		t.Errorf("FORWARD_PATHS: %q, want %q", s.ForwardPaths, want)
	}
	if want := []policy.Pattern{"llm-vl-*", "llm-omni*"}; !reflect.DeepEqual(s.VisionModels, want) {
		t.Errorf("VISION_MODELS: %q, want %q", s.VisionModels, want)
	}
}

// TestNothingOfTheGatewaysConfigIsForgotten sets everything and looks for fields that stayed empty.
func TestNothingOfTheGatewaysConfigIsForgotten(t *testing.T) {
	s, err := settings.Load(with("SLUICE_FORWARD_PATHS=uploads", "SLUICE_TRUSTED_PROXIES=10.0.0.0/8",
		"SLUICE_CORS_ORIGINS=https://chat.example", "SLUICE_RESULT_HOSTS=*.store.example", "SLUICE_RESULT_NETWORKS=10.0.0.0/8",
		"SLUICE_EMBEDDINGS_PATH=services/embeddings", "SLUICE_RULES=text.top_p=off", "SLUICE_KNOWN_MODELS_ONLY=true",
		"SLUICE_UPSTREAM_PROXY=http://proxy.example:3128",
		"SLUICE_THINKING_MODELS=a", "SLUICE_VISION_MODELS=b", "SLUICE_REASONING_MODELS=c"))
	if err != nil {
		t.Fatal(err)
	}
	config := configuration{Settings: s}.gatewayConfig(limit.NewFleet(1, time.Now))
	for _, part := range []any{config, config.Families} {
		for field, value := range reflect.ValueOf(part).Fields() {
			if field.IsExported() && value.IsZero() { // the others are for tests
				t.Errorf("%T.%s is empty", part, field.Name)
			}
		}
	}
}

// selfSigned writes a certificate for 127.0.0.1 and its key, and returns their paths and the pool that trusts it.
func selfSigned(t *testing.T) (certificate, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	certificate = write(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	key = write(t, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})))
	return certificate, key, roots
}

// fifo makes a FIFO without a writer.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// If a file is a FIFO, check names it as a fault and does not wait for it, whichever setting names it.
func TestAFIFOIsAFault(t *testing.T) {
	certificate, key, _ := selfSigned(t)
	for setting, more := range map[string]string{
		"SLUICE_TEAMS_FILE":        enough[1],
		"SLUICE_UPSTREAM_KEY_FILE": "SLUICE_TASK_TTL=24h",
		"SLUICE_REDIS_URL_FILE":    enough[1],
		"SLUICE_TLS_CERT_FILE":     "SLUICE_TLS_KEY_FILE=" + key,
		"SLUICE_TLS_KEY_FILE":      "SLUICE_TLS_CERT_FILE=" + certificate,
	} {
		got := command(t.Context(), []string{enough[0], "SLUICE_TEAMS_FILE=" + write(t, someTeams), more, setting + "=" + fifo(t)}, "check")
		if got.code != exitFaulty || !strings.Contains(got.stderr, setting+": "+files.ErrKind.Error()) {
			t.Errorf("%s: %+v", setting, got)
		}
	}
}
