package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The floor plan: the allowed imports of each package. A package that is not on it, and an import that is not in its row, fail
// the test: change the plan first.

const (
	goRedis    = "github.com/redis/go-redis"
	goBreaker  = "github.com/sony/gobreaker"
	otelAPI    = "go.opentelemetry.io"
	prometheus = "github.com/prometheus/client_golang"
	otter      = "github.com/maypok86/otter"
	xSync      = "golang.org/x/sync"
	xTime      = "golang.org/x/time"
	protobuf   = "google.golang.org/protobuf"
	jsonText   = "github.com/go-json-experiment/json/jsontext"
	goYAML     = "github.com/goccy/go-yaml"
	goOIDC     = "github.com/coreos/go-oidc"
	goOAuth    = "golang.org/x/oauth2"
	httpPkg    = "net/http"
	slogPkg    = "log/slog"
	minioGo    = "github.com/minio/minio-go"
	goJose     = "github.com/go-jose/go-jose"
)

// silent are packages that a pure computation never imports.
var silent = []string{httpPkg, "os", slogPkg, otelAPI, goRedis}

// offline is the same for a package that knows HTTP's terms.
var offline = slices.DeleteFunc(slices.Clone(silent), func(pkg string) bool { return pkg == httpPkg })

// plan has a row for each package, named without the module's name.
type plan struct {
	ours      []string            // packages of this module that its code may import
	testsOurs []string            // and further ones that its tests may import
	outside   []string            // third-party modules
	files     map[string][]string // modules that only some files may import, by the pattern of their names
	never     []string            // forbidden imports, beside everything unlisted
	timeless  bool                // must not read the clock
}

var floorPlan = map[string]plan{
	"policy/strictjson": {never: silent, timeless: true},
	"policy/picture":    {ours: []string{"policy/strictjson"}, outside: []string{"github.com/segmentio/asm"}, never: silent, timeless: true},
	"policy":            {ours: []string{"policy/strictjson", "policy/picture"}, never: silent, timeless: true},
	"policy/forms":      {ours: []string{"policy", "policy/strictjson"}, never: silent, timeless: true},
	"policy/unit":       {never: silent, timeless: true},
	"policy/event":      {never: silent, timeless: true},
	"policy/event/outbox": {
		ours: []string{"policy/event"}, testsOurs: []string{"policy/limit/limittest"}, outside: []string{goRedis},
		never: []string{httpPkg, "os", otelAPI, slogPkg},
	},
	"policy/spelling":   {never: silent, timeless: true},
	"policy/label":      {ours: []string{"policy"}, never: silent, timeless: true},
	"policy/price":      {ours: []string{"policy", "policy/unit"}, never: silent, timeless: true},
	"policy/strictyaml": {ours: []string{"policy/spelling", "policy/unit"}, outside: []string{goYAML}, never: silent, timeless: true},
	"policy/teams": {
		ours:  []string{"policy", "policy/event", "policy/label", "policy/price", "policy/spelling", "policy/strictyaml", "policy/unit"},
		files: map[string][]string{"*_test.go": {goYAML}}, never: silent, timeless: true,
	},
	"policy/account": {ours: []string{"policy", "policy/spelling", "policy/strictyaml", "policy/teams"}, never: silent, timeless: true},
	"policy/teams/store": {
		ours:      []string{"policy/strictyaml", "policy/teams"},
		testsOurs: []string{"policy/limit/limittest", "policy/unit"},
		files:     map[string][]string{"redis*.go": {goRedis}},
		never:     []string{httpPkg, slogPkg, otelAPI},
	},
	"policy/limit": {
		ours:      []string{"policy", "policy/event", "policy/price", "policy/teams", "policy/unit"},
		outside:   []string{xTime},
		testsOurs: []string{"policy/limit/limittest"},
		never:     silent,
		timeless:  true,
	},
	"policy/invoice": {ours: []string{"policy", "policy/price", "policy/limit", "policy/teams", "policy/unit"}, outside: []string{goYAML},
		never: silent},
	"policy/limit/redisstore": {
		ours:      []string{"policy", "policy/event", "policy/event/outbox", "policy/price", "policy/teams", "policy/limit", "policy/unit"},
		testsOurs: []string{"policy/limit/limittest"},
		outside:   []string{goRedis, xSync},
		never:     []string{httpPkg, "os", otelAPI, slogPkg},
	},
	"policy/limit/failover": {
		ours:      []string{"policy", "policy/price", "policy/teams", "policy/limit", "policy/limit/redisstore", "policy/unit"},
		testsOurs: []string{"policy/event", "policy/event/outbox", "policy/limit/limittest"},
		outside:   []string{xSync},
		never:     silent,
	},
	"policy/limit/limittest": { // only for tests
		ours:    []string{"policy/teams"},
		outside: []string{goRedis, "github.com/alicebob/miniredis"},
		never:   []string{httpPkg, otelAPI, slogPkg},
	},
	"cache": {
		testsOurs: []string{"policy/limit/limittest"}, outside: []string{otter, xSync},
		files: map[string][]string{"redis*.go": {goRedis}},
		never: []string{httpPkg, otelAPI, slogPkg},
	},
	"telemetry": {
		ours:    []string{"policy/unit", "telemetry/meter"},
		outside: []string{otelAPI, prometheus, xTime, "github.com/go-logr/logr"}, // the SDK logs by logr
		never:   []string{goRedis, "net/http/httputil"},
	},
	"telemetry/meter":   {ours: []string{"policy/strictjson"}, never: []string{httpPkg, "os", slogPkg, otelAPI}, timeless: true},
	"telemetry/pulse":   {ours: []string{"telemetry"}, never: silent, timeless: true},
	"telemetry/latency": {never: silent, timeless: true},
	"telemetry/recent": {
		ours:      []string{"policy/unit", "telemetry", "telemetry/latency"},
		testsOurs: []string{"policy/limit/limittest"},
		files:     map[string][]string{"redis*.go": {goRedis}},
		never:     []string{httpPkg, "os", slogPkg, otelAPI},
	},
	"gateway/loads": {ours: []string{"policy/limit", "policy/teams"}, never: offline, timeless: true},
	"gateway/turn": {ours: []string{"policy", "policy/limit", "policy/teams", "policy/unit"},
		files: map[string][]string{"*_test.go": {xTime}}, never: silent},
	"gateway/refusal": {ours: []string{"gateway/conversation", "gateway/turn", "gateway/upstream", "policy/limit", "telemetry"},
		never: []string{otelAPI, goRedis, "os"}, timeless: true},
	"gateway/repeats": {
		ours: []string{"policy/limit", "policy/teams", "policy/unit", "telemetry"}, testsOurs: []string{"policy/limit/limittest"},
		outside: []string{xTime}, never: silent, timeless: true,
	},
	"gateway/placement": {
		ours:      []string{"gateway/accounts", "gateway/turn", "policy/account", "policy/limit"},
		testsOurs: []string{"gateway/upstream", "policy/teams", "policy/limit/limittest"}, never: silent, timeless: true,
	},
	"gateway/wire":  {never: []string{otelAPI, goRedis, "os"}},
	"gateway/media": {ours: []string{"policy"}, never: []string{otelAPI, goRedis, "os"}, timeless: true},
	"gateway/upstream": {
		testsOurs: []string{"gateway/upstream/upstreamtest"},
		files: map[string][]string{"path.go": {"golang.org/x/text"}, "guard.go": {"code.dny.dev/ssrf"}, "tunnel.go": {"golang.org/x/net"},
			"*_test.go": {"code.dny.dev/ssrf"}}, never: []string{otelAPI, goRedis, "os"},
	},
	// only for tests
	"gateway/upstream/upstreamtest": {outside: []string{"golang.org/x/net"}, never: []string{"os", slogPkg, otelAPI, goRedis}},
	"gateway/feed": {
		ours: []string{"policy", "policy/event"}, testsOurs: []string{"policy/event/outbox", "policy/limit/limittest"},
		never: []string{otelAPI, goRedis, "os", slogPkg},
	},
	"gateway/hooks": {
		ours:      []string{"gateway/upstream", "policy/event", "policy/strictyaml", "policy/teams", "telemetry"},
		testsOurs: []string{"gateway/upstream/upstreamtest", "policy/limit/limittest"}, never: []string{otelAPI, goRedis, "os"},
	},
	"gateway/mirror": {
		ours:      []string{"gateway/mirror/store", "gateway/upstream", "policy/event", "policy/unit", "telemetry"},
		testsOurs: []string{"gateway/mirror/store/storetest", "gateway/simulator", "policy/event/outbox", "policy/limit/limittest"},
		never:     []string{otelAPI, goRedis, "os"},
	},
	"gateway/mirror/store": {testsOurs: []string{"gateway/mirror/store/storetest"},
		files: map[string][]string{"bucket.go": {minioGo}, "keys.go": {minioGo}}, never: []string{otelAPI, goRedis, slogPkg}},
	"gateway/mirror/store/storetest": {ours: []string{"gateway/mirror/store"}, never: []string{otelAPI, goRedis, slogPkg}}, // only for tests
	"gateway/billing": {
		ours:      []string{"policy", "policy/price", "policy/limit", "cache", "telemetry", "telemetry/meter"},
		testsOurs: []string{"policy/teams", "policy/unit"},
		never:     []string{otelAPI, goRedis, httpPkg},
		timeless:  true,
	},
	"gateway/tasks": {
		ours: []string{"gateway/billing", "gateway/openai", "policy", "policy/event", "policy/price", "policy/teams", "policy/limit",
			"policy/unit", "cache", "telemetry", "telemetry/meter"}, outside: []string{xSync, xTime},
		never: []string{otelAPI, goRedis, "os"},
	},
	"gateway/accounts": {
		ours:      []string{"gateway/upstream", "policy/account", "policy/teams", "telemetry/meter"},
		testsOurs: []string{"policy/limit/limittest"},
		files:     map[string][]string{"redis*.go": {goRedis}},
		never:     []string{otelAPI, "os"},
	},
	"gateway/stores": {ours: []string{"gateway/tasks", "policy/limit", "policy/teams", "cache"}, never: offline, timeless: true},
	"gateway/echo":   {never: []string{otelAPI, goRedis, slogPkg, "os"}},
	"gateway/usage": {
		ours:  []string{"gateway/loads", "gateway/tasks", "policy", "policy/limit", "policy/teams", "cache"},
		never: []string{otelAPI, goRedis, httpPkg, "os"},
	},
	"gateway": {
		ours: []string{"gateway/accounts", "gateway/feed", "gateway/mirror/store", "gateway/stores", "gateway/usage", "gateway/billing",
			"gateway/echo", "gateway/loads", "gateway/placement", "gateway/quotas", "gateway/refusal", "gateway/repeats", "gateway/tasks",
			"gateway/turn", "policy/forms", "gateway/upstream", "gateway/wire", "gateway/media", "policy/label", "gateway/conversation",
			"gateway/dialect", "gateway/dialect/chat", "gateway/dialect/messages", "gateway/dialect/responses", "gateway/openai", "gateway/oidc",
			"policy", "policy/account", "policy/teams", "policy/limit", "policy/price", "policy/unit", "cache", "telemetry", "telemetry/meter",
			"policy/event", "policy/strictjson"},
		testsOurs: []string{"gateway", "gateway/admin", "gateway/simulator", "gateway/oidc/oidctest", "policy/limit/limittest",
			"policy/limit/redisstore", "policy/limit/failover", "cmd/sluice/redisclient", "policy/event"},
		never: []string{goRedis, otelAPI, "github.com/caarlos0/env", "os"},
	},
	"gateway/quotas": {
		ours:      []string{"policy/account", "policy/event", "policy/limit", "policy/teams", "policy/unit", "telemetry"},
		testsOurs: []string{"policy/event/outbox", "policy/limit/failover", "policy/limit/limittest", "policy/limit/redisstore"},
		never:     []string{goRedis, otelAPI, "os"},
	},
	"gateway/notices": {
		ours:      []string{"policy/account", "policy/event", "policy/teams", "telemetry/recent"},
		testsOurs: []string{"policy/event/outbox", "policy/limit/limittest"},
		never:     []string{goRedis, otelAPI, "os", slogPkg, httpPkg},
	},
	"gateway/rawjson": {ours: []string{"policy/strictjson"}, outside: []string{jsonText}, never: offline, timeless: true},
	"gateway/conversation": {ours: []string{"gateway/rawjson", "policy/strictjson"}, testsOurs: []string{"telemetry/meter"},
		outside: []string{jsonText}, never: offline, timeless: true},
	"gateway/openai": {
		ours:      []string{"gateway/conversation", "gateway/rawjson", "policy/strictjson"},
		testsOurs: []string{"gateway/dialect/dialecttest", "policy"}, outside: []string{jsonText}, never: offline, timeless: true,
	},
	"gateway/dialect": {
		ours: []string{"gateway/conversation"}, testsOurs: []string{"gateway/dialect/chat", "gateway/dialect/dialecttest",
			"gateway/dialect/messages", "gateway/dialect/responses", "gateway/openai"}, never: []string{otelAPI, goRedis, slogPkg, "os"},
		timeless: true,
	},
	"gateway/dialect/chat": {
		ours:      []string{"gateway/conversation", "gateway/openai", "gateway/rawjson", "policy/strictjson"},
		testsOurs: []string{"gateway/dialect/dialecttest", "policy"}, never: offline, timeless: true,
	},
	"gateway/dialect/responses": {
		ours:      []string{"gateway/conversation", "gateway/openai", "gateway/rawjson", "policy/strictjson"},
		testsOurs: []string{"gateway/dialect/dialecttest"}, never: offline, timeless: true,
	},
	"gateway/dialect/messages": {
		ours:      []string{"gateway/conversation", "gateway/rawjson", "policy/strictjson"},
		testsOurs: []string{"gateway/dialect/dialecttest"}, never: offline, timeless: true,
	},
	"gateway/dialect/dialecttest": {ours: []string{"gateway/conversation", "policy"},
		outside: []string{"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "pgregory.net/rapid"},
		never:   []string{otelAPI, goRedis, slogPkg}}, // only for tests
	"gateway/oidc": {
		ours: []string{"policy/teams"}, testsOurs: []string{"gateway/oidc/oidctest"}, outside: []string{goOIDC, goOAuth, goJose, jsonText, xTime},
		never: []string{"os", slogPkg, otelAPI, goRedis},
	},
	// only for tests
	"gateway/oidc/oidctest": {ours: []string{"gateway/oidc"}, outside: []string{goJose}, never: []string{"os", slogPkg, otelAPI, goRedis}},
	"gateway/admin": {
		ours: []string{"policy", "policy/account", "policy/event", "policy/invoice", "policy/limit", "policy/price", "policy/teams",
			"policy/unit"}, never: []string{goRedis, otelAPI},
	},
	"gateway/console/why": {ours: []string{"telemetry/recent"}, never: offline, timeless: true},
	"gateway/console": {
		ours: []string{"gateway/console/access", "gateway/console/figures", "gateway/console/why", "policy", "policy/account",
			"policy/event", "policy/strictyaml", "policy/teams", "policy/limit", "policy/unit", "telemetry/recent"},
		testsOurs: []string{"gateway/console/pages", "gateway/oidc", "gateway/oidc/oidctest", "policy/teams/store", "policy/limit/limittest"},
		outside:   []string{jsonText, xTime},
		files:     map[string][]string{"compress.go": {"github.com/klauspost/compress"}},
		never:     []string{goRedis, otelAPI, "os"},
	},
	"gateway/console/access": {
		ours:      []string{"gateway/oidc"},
		testsOurs: []string{"gateway/oidc/oidctest", "policy/limit/limittest"},
		outside:   []string{xTime},
		files:     map[string][]string{"redis.go": {goRedis}},
		never:     []string{otelAPI, httpPkg, "os"},
	},
	"gateway/console/chart":    {ours: []string{"policy/unit"}, never: silent, timeless: true},
	"gateway/console/teamform": {ours: []string{"policy", "policy/teams", "policy/unit"}, never: silent, timeless: true},
	"gateway/console/pages": {
		ours: []string{"gateway/admin", "gateway/console", "gateway/console/access", "gateway/console/chart", "gateway/console/figures",
			"gateway/console/teamform", "gateway/console/why", "cache", "policy", "policy/account", "policy/event", "policy/limit", "policy/price",
			"policy/teams", "policy/unit", "telemetry", "telemetry/recent"},
		testsOurs: []string{"cmd/sluice/browsertest"},
		never:     []string{goRedis, otelAPI, "os"},
	},
	"gateway/console/remote": {
		ours:      []string{"gateway/admin", "gateway/console", "gateway/upstream"},
		testsOurs: []string{"policy/teams"},
		never:     []string{goRedis, otelAPI, slogPkg, "os"},
	},
	"gateway/console/figures": {
		ours: []string{"gateway/console/access", "gateway/tasks", "policy/account", "policy/event", "policy/limit", "policy/price",
			"policy/teams", "policy/unit", "cache", "telemetry/latency", "telemetry/pulse", "telemetry/recent"},
		testsOurs: []string{"gateway/admin", "policy", "policy/limit/redisstore", "policy/limit/failover", "policy/limit/limittest", "telemetry"},
		outside:   []string{xSync},
		files:     map[string][]string{"kept.go": {goRedis}},
		never:     []string{httpPkg, "os", slogPkg, otelAPI},
	},
	"gateway/simulator":         {ours: []string{"gateway/simulator/billing", "gateway/simulator/picture"}},
	"gateway/simulator/billing": {never: silent, timeless: true}, // shares no code with policy/price, so that its bill is a second opinion
	"gateway/simulator/picture": {never: silent, timeless: true},
	"cmd/sluice/redisclient": {testsOurs: []string{"policy/limit/limittest"}, outside: []string{goRedis, goBreaker},
		never: []string{httpPkg, "os", otelAPI}},
	"cmd/sluice/files": {ours: []string{"gateway/accounts", "gateway/upstream", "policy/account", "policy/strictyaml", "policy/teams"},
		never: []string{httpPkg, otelAPI, goRedis, slogPkg}},
	"cmd/sluice/settings": {
		ours: []string{"cmd/sluice/files", "cmd/sluice/settings", "cmd/sluice/redisclient", "gateway/upstream", "policy", "policy/forms",
			"policy/spelling", "policy/strictyaml", "policy/teams", "gateway/mirror/store"},
		outside: []string{"github.com/caarlos0/env"},
		never:   []string{goRedis, otelAPI},
	},
	"cmd/sluice/ingress": {ours: []string{"gateway/upstream"}, never: []string{otelAPI, goRedis, slogPkg, "os"}},
	"cmd/sluice/peers":   {never: []string{otelAPI, goRedis, slogPkg, "os"}},
	"cmd/sluice/demo": {
		ours: []string{"gateway/stores", "gateway/upstream", "policy", "policy/limit", "policy/price", "policy/teams", "telemetry",
			"telemetry/recent"}, never: []string{goRedis, otelAPI, slogPkg, "os"},
	},
	"cmd/sluice/questions": {ours: []string{"gateway/admin", "gateway/console", "gateway/console/remote"},
		testsOurs: []string{"gateway", "gateway/console/why"}, never: []string{goRedis, otelAPI, slogPkg, "os"}},
	"cmd/sluice/pace":        {never: []string{goRedis, httpPkg, otelAPI, slogPkg}},
	"cmd/sluice/browsertest": {outside: []string{"github.com/chromedp"}, never: []string{goRedis, otelAPI}}, // only for tests
	"cmd/sluice": {
		ours: []string{
			"policy", "policy/price", "policy/teams", "policy/teams/store", "policy/account", "policy/event", "policy/invoice", "policy/limit",
			"policy/limit/redisstore", "policy/limit/failover", "policy/forms", "policy/spelling", "policy/strictyaml", "policy/unit",
			"policy/event/outbox",
			"cache", "telemetry", "gateway", "gateway/accounts", "gateway/echo", "gateway/upstream", "gateway/feed", "gateway/hooks",
			"gateway/oidc", "gateway/admin", "gateway/simulator", "cmd/sluice/questions", "cmd/sluice/redisclient", "cmd/sluice/demo",
			"cmd/sluice/files", "cmd/sluice/ingress", "cmd/sluice/peers", "cmd/sluice/settings", "cmd/sluice/pace", "gateway/mirror",
			"gateway/mirror/store", "gateway/notices", "gateway/quotas", "gateway/stores", "gateway/tasks",
			"gateway/console", "gateway/console/access", "gateway/console/figures", "gateway/console/pages", "gateway/console/remote",
			"gateway/wire", "telemetry/pulse", "telemetry/recent",
		},
		testsOurs: []string{"cmd/sluice/browsertest", "gateway/mirror/store/storetest", "gateway/upstream/upstreamtest",
			"gateway/simulator/billing", "policy/limit/limittest", "policy/price"},
		outside: []string{"github.com/alecthomas/kong", otelAPI, jsonText, xTime},
	},
}

// forTests are the modules that any package's tests may import.
var forTests = []string{
	"github.com/google/go-cmp", protobuf, "google.golang.org/grpc", "github.com/rogpeppe/go-internal", "go.uber.org/goleak",
	"pgregory.net/rapid", "github.com/alicebob/miniredis", "github.com/Shopify/toxiproxy", "github.com/rs/zerolog", goRedis, otelAPI,
	"github.com/go-json-experiment/json", "golang.org/x/image", "golang.org/x/net", "github.com/chromedp", "github.com/caarlos0/env",
	goYAML, "github.com/standard-webhooks/standard-webhooks",
}

// source is one file of the module and what it imports.
type source struct {
	pkg, name string // package without the module's name, and base name
	syntax    *ast.File
	imports   []string
}

func (s source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

// positions are those of every parsed file.
var positions = token.NewFileSet()

// sources are all Go files that the build knows, whatever tags they have.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	must(t, err)
	return all
}

var parsed = sync.OnceValues(func() (all []source, _ error) {
	list := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	list.Dir = "../.."
	listed, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(listed)); ; {
		var pkg struct {
			ImportPath, Dir                                    string
			GoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		for _, name := range slices.Concat(pkg.GoFiles, pkg.IgnoredGoFiles, pkg.TestGoFiles, pkg.XTestGoFiles) {
			s, err := parseSource(strings.TrimPrefix(pkg.ImportPath, "sluice/"), filepath.Join(pkg.Dir, name))
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
})

func parseSource(pkg, file string) (source, error) {
	syntax, err := parser.ParseFile(positions, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{pkg: pkg, name: filepath.Base(file), syntax: syntax}
	for _, spec := range syntax.Imports {
		name, _ := strconv.Unquote(spec.Path.Value) // it was parsed
		s.imports = append(s.imports, name)
	}
	return s, nil
}

func TestEveryPackageIsOnThePlan(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, s := range sources(t) {
		if _, planned := floorPlan[s.pkg]; !planned && !found[s.pkg] {
			t.Errorf("package %s is not on the plan", s.pkg)
		}
		found[s.pkg] = true
	}
	for pkg := range floorPlan {
		if !found[pkg] {
			t.Errorf("package %s is on the plan and nowhere else", pkg)
		}
	}
}

func TestImportsFollowThePlan(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			if fault := floorPlan[s.pkg].judge(s, imported); fault != "" {
				t.Errorf("%s/%s imports %s: %s", s.pkg, s.name, imported, fault)
			}
		}
	}
}

// judge returns the fault of an import; "": none.
func (p plan) judge(s source, imported string) string {
	ours, isOurs := strings.CutPrefix(imported, "sluice/")
	standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
	switch {
	case isOurs:
		own := s.isTest() && ours == s.pkg // a test may have an external test package
		if !own && !slices.Contains(p.ours, ours) && (!s.isTest() || !slices.Contains(p.testsOurs, ours)) {
			return "not in the package's row"
		}
	case !s.isTest() && below(imported, p.never):
		return "the plan says never"
	case !standard && !below(imported, p.outside) && !below(imported, p.fileModules(s.name)) && (!s.isTest() || !below(imported, forTests)):
		return "not in the package's row, or not for this file"
	}
	return ""
}

func (p plan) fileModules(name string) []string {
	for pattern, modules := range p.files {
		if fits, _ := path.Match(pattern, name); fits {
			return modules
		}
	}
	return nil
}

// below reports whether a package is one of the list or lies below one. A version of a module counts as the module.
func below(imported string, list []string) bool {
	return slices.ContainsFunc(list, func(prefix string) bool {
		return imported == prefix || strings.HasPrefix(imported, prefix+"/")
	})
}

// TestTheCellarReadsNoClock: the time is an argument, so that equal input gives equal output.
func TestTheCellarReadsNoClock(t *testing.T) {
	t.Parallel()
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	for _, s := range sources(t) {
		if s.isTest() || !floorPlan[s.pkg].timeless {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok && isIdent(selector.X, "time") && slices.Contains(clock, selector.Sel.Name) {
				t.Errorf("%s/%s reads the clock: time.%s", s.pkg, s.name, selector.Sel.Name)
			}
			return true
		})
	}
}

func isIdent(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}

// TestThePlanFindsWhatItForbids breaks each kind of rule once.
func TestThePlanFindsWhatItForbids(t *testing.T) {
	for _, tt := range []struct {
		pkg, file, imported string
		allowed             bool
	}{
		{"policy", "judge.go", "strings", true},
		{"policy", "judge.go", "sluice/policy/teams", false},
		{"policy/strictyaml", "node.go", "github.com/goccy/go-yaml/ast", true},
		{"policy", "judge.go", "net/http", false},
		{"policy", "judge.go", "net/http/httptest", false},
		{"policy", "judge.go", "sluice/cache", false},
		{"policy/strictjson", "reader.go", "sluice/policy", false},
		{"telemetry/meter", "document.go", "sluice/policy/strictjson", true},
		{"telemetry/meter", "document.go", "sluice/policy", false},
		{"policy", "judge.go", "github.com/google/go-cmp/cmp", false},
		{"policy", "judge_test.go", "github.com/google/go-cmp/cmp", true},
		{"policy", "judge_test.go", "sluice/policy", true},
		{"policy", "judge_test.go", "sluice/gateway", false},
		{"policy/limit", "admit.go", "github.com/redis/go-redis/v9", false},
		{"policy/limit", "admit.go", "sluice/policy/limit/redisstore", false},
		{"policy/limit/redisstore", "admit.go", "github.com/redis/go-redis/v9", true},
		{"policy/limit/redisstore", "admit.go", "sluice/policy/limit/failover", false},
		{"policy/limit/failover", "admit.go", "sluice/policy/limit/redisstore", true},
		{"policy/limit/failover", "admit.go", "github.com/redis/go-redis/v9", false},
		{"policy/limit/failover", "admit.go", "sluice/policy/limit/limittest", false},
		{"cache", "claims.go", "github.com/redis/go-redis/v9", false},
		{"cache", "redis_store.go", "github.com/redis/go-redis/v9", true},
		{"cache", "claims.go", "github.com/maypok86/otter/v2", true},
		{"gateway", "forward.go", "sluice/gateway/simulator", false},
		{"gateway", "forward_test.go", "sluice/gateway/simulator", true},
		{"gateway", "forward.go", "os", false},
		{"gateway/upstream", "conn.go", "sluice/policy/teams", false},
		{"gateway/tasks", "query.go", "sluice/gateway", false},
		{"gateway/tasks", "query.go", "sluice/gateway/upstream", false},
		{"gateway/admin", "admin.go", "sluice/gateway", false},
		{"gateway/openai", "edits.go", "github.com/go-json-experiment/json/jsontext", true},
		{"gateway/dialect/chat", "chat.go", "log/slog", false},
		{"gateway/dialect/chat", "chat.go", "sluice/policy/strictjson", true},
		{"gateway/dialect/chat", "chat.go", "sluice/policy", false},
		{"gateway/conversation", "stream.go", "sluice/gateway/openai", false},
		{"gateway/upstream", "guard.go", "code.dny.dev/ssrf", true},
		{"gateway/upstream", "conn.go", "code.dny.dev/ssrf", false},
		{"gateway/upstream", "path.go", "golang.org/x/text/unicode/norm", true},
		{"gateway/simulator", "task.go", "sluice/policy", false},
		{"gateway/simulator", "ledger.go", "sluice/policy/price", false},
		{"gateway/simulator/billing", "prices.go", "sluice/policy/price", false},
		{"gateway/simulator/billing", "billing_test.go", "sluice/policy/price", false},
		{"gateway/simulator", "task_test.go", "sluice/policy", false},
		{"cmd/sluice", "main.go", "os", true},
		{"cmd/sluice", "main.go", "github.com/spf13/cobra", false},
	} {
		s := source{pkg: tt.pkg, name: tt.file}
		if fault := floorPlan[tt.pkg].judge(s, tt.imported); (fault == "") != tt.allowed {
			t.Errorf("%s/%s importing %s: %q, want allowed to be %v", tt.pkg, tt.file, tt.imported, fault, tt.allowed)
		}
	}
}

// TestTheTopLevelStaysAsItIs: a directory for miscellany is not on the plan.
func TestTheTopLevelStaysAsItIs(t *testing.T) {
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		planned := []string{"cmd", "gateway", "policy", "cache", "telemetry", "deploy", "docs"}
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && !slices.Contains(planned, entry.Name()) {
			t.Errorf("%s/ is not on the plan", entry.Name())
		}
	}
}
