package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/simulator"
	"sluice/policy"
	"sluice/policy/teams"
)

// testsDigest is the SHA-256 of the key "test".
const testsDigest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// someTeams is a teams file with one team and one key.
const someTeams = `teams:
  - id: search
    keys:
      - id: 7f3k9q2m4x1c
        sha256: ` + testsDigest + "\n"

func TestCheckShowsWhatIsInEffect(t *testing.T) {
	got := command(t.Context(), with("SLUICE_TEAMS_FILE="+write(t, someTeams), "SLUICE_TASK_TTL=90m", "SLUICE_VISION_MODELS=a, b*",
		"SLUICE_RULES=text.top_p=off,image.prompt.length=refuse"), "check")
	if got.code != exitClean {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{
		"SLUICE_LISTEN=:8080\n",
		"SLUICE_UPSTREAM_URL=https://service.example/api/v1\n",
		"SLUICE_UPSTREAM_KEY=[redacted]\n",
		"SLUICE_REDIS_URL=\n",
		"SLUICE_HEADER_TIMEOUT=5m\n",
		"SLUICE_TASK_TTL=1h30m\n",
		"SLUICE_TASK_TIMEZONE=+08:00\n",
		"SLUICE_BODY_BUDGET=512MiB\n",
		"SLUICE_VISION_MODELS=a,b*\n",
		"SLUICE_RULES=image.prompt.length=refuse,text.top_p=off\n",
		"SLUICE_LOG_LEVEL=info\n",
		"# team search: 1 key, models *, endpoints text,multimodal,image,tasks,embeddings\n",
		"# warning: SLUICE_REDIS_URL: not set",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, got.stdout)
		}
	}
}

// Where Redis has the directory, check shows it, with what the house does not let its teams use, and only warns if Redis is away.
func TestCheckShowsTheDirectoryInRedis(t *testing.T) {
	server := startRedis(t)
	environ := with("SLUICE_TEAMS_FILE="+write(t, someTeams+"house: {quotas: {images: {day: 9}}}\n"), "SLUICE_REDIS_URL="+server.url())
	if got := command(t.Context(), environ, "directory", "import",
		write(t, "teams: [{id: maps, quotas: {images: {day: 10, month: 90}}}]")); got.code != exitClean {
		t.Fatalf("%+v", got)
	}
	if got := command(t.Context(), environ, "check"); got.code != exitClean ||
		!strings.Contains(got.stdout, "# team maps: 0 keys, models *, endpoints text,multimodal,image,tasks,embeddings, of the directory\n") ||
		strings.Count(got.stdout, "# warning: maps can never use its quota images per day: the house's is smaller\n") != 1 {
		t.Errorf("%+v", got)
	}
	environ = with("SLUICE_TEAMS_FILE="+write(t, someTeams), "SLUICE_REDIS_URL=redis://127.0.0.1:1")
	if got := command(t.Context(), environ, "check"); got.code != exitClean ||
		!strings.Contains(got.stdout, "# warning: the directory cannot be read: ") || strings.Contains(got.stdout, "of the directory") {
		t.Errorf("%+v", got)
	}
}

// TestCheckPrintsAnEnvironmentFileWhateverFails: sentinels are many, with an error each.
func TestCheckPrintsAnEnvironmentFileWhateverFails(t *testing.T) {
	t.Parallel()
	server := startRedis(t) // no sentinel
	got := command(t.Context(), with("SLUICE_TEAMS_FILE="+write(t, someTeams),
		"SLUICE_REDIS_URL=redis+sentinel://127.0.0.1:1,"+server.address()+",127.0.0.1:1/master?sentinel=:x"), "check")
	if got.code != exitClean || !strings.Contains(got.stdout, "cannot be read: the sentinels: ") {
		t.Errorf("%+v", got)
	}
	for line := range strings.Lines(got.stdout) {
		if !strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, settings.Prefix) {
			t.Errorf("it prints %q", line)
		}
	}
}

// TestTheTeamsThatLoseForwardedPathsAreNamed by check and in the log at the start, including the directory's; without forwarded
// paths no team is affected.
func TestTheTeamsThatLoseForwardedPathsAreNamed(t *testing.T) {
	const file = "teams: [{id: search}, {id: shop, endpoints: [text]}, {id: ads}, {id: video, endpoints: [other]}]"
	teamsFile := filepath.Join(t.TempDir(), "teams.yaml")
	must(t, os.WriteFile(teamsFile, []byte(file), 0o600))
	_, upstream := newService(t, simulator.Config{})
	environ := with("SLUICE_UPSTREAM_URL="+upstream.URL+"/api/v1", "SLUICE_TEAMS_FILE="+teamsFile)
	if got := command(t.Context(), environ, "directory", "import",
		write(t, "teams: [{id: maps}, {id: tiles, endpoints: [text, other]}]")); got.code != exitClean {
		t.Fatalf("%+v", got)
	}
	for _, tt := range []struct {
		paths string
		times int
	}{{"", 0}, {"uploads=native", 0}, {"uploads", 1}} {
		environ := append(environ, "SLUICE_FORWARD_PATHS="+tt.paths)
		h := serving(t, upstream.URL, environ[len(environ)-2:]...)
		for where, text := range map[string]string{"check": command(t.Context(), environ, "check").stdout, "the log": string(h.log.bytes())} {
			for _, lost := range []string{"search, ads; name other", "maps; name other"} {
				want := "SLUICE_FORWARD_PATHS: these teams have no endpoints, and so no longer may use these paths: " + lost
				if n := strings.Count(text, want); n != tt.times {
					t.Errorf("%s, paths %q: %q stands there %d times, want %d\n%s", where, tt.paths, want, n, tt.times, text)
				}
			}
		}
		h.stop()
	}
}

// With Redis, check names the models that were used and have no price today, and no others. Clients name models as they like, but no name
// becomes a setting.
func TestCheckNamesTheModelsWithoutAPrice(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	file := write(t, someTeams+"currency: CNY\nprices: [{model: llm-plus, input_per_million: 1}, {model: \"llm-*\", from: 9999-12-31, "+
		"input_per_million: 1}]\n")
	environ := with("SLUICE_UPSTREAM_URL="+upstream.URL+"/api/v1", "SLUICE_TEAMS_FILE="+file, "SLUICE_REDIS_URL="+startRedis(t).url())
	h := serving(t, upstream.URL, environ[len(environ)-2:]...)
	for _, model := range []string{"llm-max", "llm-plus", `unknown\nSLUICE_UPSTREAM_URL=http://other\u001b[31m`} {
		if _, text, err := ask(newClient(t), "http://"+h.public, textURL, strings.Replace(demoText, "llm-plus", model, 1)); err != nil {
			t.Fatal(text, err)
		}
	}
	h.stop()
	got := command(t.Context(), environ, "check")
	const want = "# warning: used in the last 30 days, and without a price: llm-max, unknown\\nSLUICE_UPSTREAM_URL=http://other\\x1b[31m\n"
	if !strings.Contains(got.stdout, want) {
		t.Errorf("%s\nwant %s", got.stdout, want)
	}
}

// Check names models whose first price lies in the future: until then their requests are refused under a quota of spend.
func TestCheckNamesPricesThatHaveNotBegun(t *testing.T) {
	file := write(t, someTeams+"currency: CNY\nhouse: {quotas: {spend: {day: 5}}}\nprices: [{model: \"*\", from: 2099-01-01, image: 1, "+
		"input_per_million: 1}]\n")
	got := command(t.Context(), with("SLUICE_TEAMS_FILE="+file), "check")
	if want := "# warning: prices: * has no price until 2099-01-01: "; strings.Count(got.stdout, want) != 1 {
		t.Errorf("%s\nwant %s", got.text(), want)
	}
}

// Check names models whose price has only tokens or only images, where a native path is open and a quota counts money: it refuses them
// there.
func TestCheckNamesPricesOfOneKind(t *testing.T) {
	const prices = "currency: CNY\nprices: [{model: \"video-*\", image: 0.5}, {model: llm-plus, output_per_million: 1}, {model: \"*\", " +
		"image: 1, input_per_million: 1}]\n"
	const house = "house: {quotas: {spend: {day: 5}}}\n"
	const ofTeam = "    quotas: {spend: {day: 5}}\n"
	for _, tt := range []struct {
		teams, paths string
		want         int
	}{
		{prices + house, "services/video=native", 2}, {ofTeam + prices, "services/video=native", 2}, {prices, "services/video=native", 0},
		{prices + house, "services/video=openai", 0}, {prices + house, "", 0},
	} {
		got := command(t.Context(), with("SLUICE_TEAMS_FILE="+write(t, someTeams+tt.teams), "SLUICE_FORWARD_PATHS="+tt.paths), "check").stdout
		n := strings.Count(got, "# warning: SLUICE_FORWARD_PATHS: ")
		video := strings.Contains(got, ": video-* has no price of tokens: a quota of spend refuses it below a native path")
		text := strings.Contains(got, ": llm-plus has no price of images: a quota of spend refuses it below a native path")
		if n != tt.want || video != (tt.want > 0) || text != (tt.want > 0) {
			t.Errorf("%+v: %d warnings in\n%s", tt, n, got)
		}
	}
}

// Check names sizes of the price list that no rule on the editing models lets a picture have, and those whose pictures cost by pixels.
func TestCheckNamesSizesThatNeverCount(t *testing.T) {
	file := write(t, someTeams+"currency: CNY\nprices: [{model: \"gen2.6-image*\", image: 1, images: [{size: 640*640, image: 2}, {size: "+
		"1k, image: 3}]}, {model: \"*\", image: 1, images: [{size: 1024*1024, image: 2}, {up_to_pixels: 2000000, image: 1}]}]\n")
	got := command(t.Context(), with("SLUICE_TEAMS_FILE="+file), "check")
	if !strings.Contains(got.stdout, "# warning: prices: the size 1024*1024 of * never counts: its pictures cost by up_to_pixels") ||
		strings.Count(got.stdout, "never counts") != 2 {
		t.Error(got.text())
	}
	if strings.Count(got.stdout, "never counts: no rule allows it") != 1 ||
		!strings.Contains(got.stdout, "# warning: prices: the size 640*640 of gen2.6-image* never counts") {
		t.Error(got.text())
	}
}

func TestWhatCheckShowsIsAcceptedAgain(t *testing.T) {
	shown := command(t.Context(), with("SLUICE_TEAMS_FILE="+write(t, someTeams), "SLUICE_MAX_BODY=1KiB", "SLUICE_FORWARD_PATHS=a,b/c"),
		"check").stdout
	var environ []string
	for line := range strings.Lines(shown) {
		if strings.HasPrefix(line, settings.Prefix) {
			environ = append(environ, strings.TrimSuffix(strings.Replace(line, "[redacted]", "sk-other", 1), "\n"))
		}
	}
	if again := command(t.Context(), environ, "check"); again.stdout != shown {
		t.Errorf("shown again:\n%s\nwant\n%s", again.text(), shown)
	}
}

func TestCheckListsFaultsOfSettingsAndFilesTogether(t *testing.T) {
	broken := someTeams + "  - id: Search\n    colour: red\n"
	got := command(t.Context(), []string{"SLUICE_TEAMS_FILE=" + write(t, broken), "SLUICE_REPLICAS=0"}, "check")
	if got.code != exitFaulty {
		t.Errorf("exit code %d, want %d", got.code, exitFaulty)
	}
	for _, want := range []string{"SLUICE_REPLICAS: ", "SLUICE_UPSTREAM_KEY: ", "SLUICE_TEAMS_FILE: line 6", "SLUICE_TEAMS_FILE: line 7"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%q is missing in\n%s", want, got.stderr)
		}
	}
	if !strings.Contains(got.stdout, "# faulty: SLUICE_REPLICAS\n") {
		t.Errorf("the faulty setting is not marked in\n%s", got.stdout)
	}
}

func TestTeamsFileThatCannotBeRead(t *testing.T) {
	for what, path := range map[string]string{"missing": filepath.Join(t.TempDir(), "CANARY"), "a directory": t.TempDir(),
		"no YAML": write(t, "\t: CANARY: [")} {
		got := command(t.Context(), with("SLUICE_TEAMS_FILE="+path), "check")
		if got.code != exitFaulty || !strings.Contains(got.stderr, "SLUICE_TEAMS_FILE: ") || strings.Contains(got.text(), "CANARY") {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestTheTeamsFilesBoundIsTold: what the setting and the page say is the largest that is read.
func TestTheTeamsFilesBoundIsTold(t *testing.T) {
	bound := fmt.Sprintf("at most %d MiB", files.Most>>20)
	if !strings.Contains(settings.Allowed["SLUICE_TEAMS_FILE"], bound) ||
		!strings.Contains(readRoot(t, "docs/settings.md"), "A regular file of "+bound) {
		t.Errorf("%q is not told", bound)
	}
	for size, want := range map[int]int{files.Most: exitClean, files.Most + 1: exitFaulty} {
		file := write(t, someTeams+"#"+strings.Repeat("x", size-len(someTeams)-1))
		if got := command(t.Context(), with("SLUICE_TEAMS_FILE="+file), "check"); got.code != want ||
			strings.Contains(got.stderr, bound) != (want == exitFaulty) {
			t.Errorf("%d bytes: %d, want %d: %s", size, got.code, want, got.stderr)
		}
	}
}

func TestTheUpstreamKeyMustNotBeATeams(t *testing.T) {
	// The SHA-256 in someTeams is that of "test".
	environ := []string{enough[0], "SLUICE_UPSTREAM_KEY=test", "SLUICE_TEAMS_FILE=" + write(t, someTeams)}
	for _, name := range []string{"check", "serve"} {
		got := command(stopped(), environ, name)
		if got.code != exitFaulty || !strings.Contains(got.stderr, "a team's key is the upstream key") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWorldReadableSecretsAreWarnedOf(t *testing.T) {
	key := write(t, "sk-filed")
	environ := []string{enough[0], "SLUICE_UPSTREAM_KEY_FILE=" + key, "SLUICE_TEAMS_FILE=" + write(t, someTeams)}
	const warning = "SLUICE_UPSTREAM_KEY_FILE: every user of this machine can read the file"
	if got := command(t.Context(), environ, "check"); strings.Contains(got.stdout, warning) {
		t.Errorf("check warns of a private file:\n%s", got.stdout)
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := command(t.Context(), environ, "check"); got.code != exitClean || !strings.Contains(got.stdout, warning) {
		t.Errorf("check does not warn of a readable file:\n%s", got.stdout)
	}
}

func TestWarnings(t *testing.T) {
	for _, tt := range []struct{ variable, says string }{
		{"SLUICE_CAPTURE_CONTENT=true", "SLUICE_CAPTURE_CONTENT: spans that are sent contain prompts and answers"},
		{"SLUICE_UPSTREAM_URL=http://10.0.0.1/api/v1", "http sends the upstream key in clear text"},
		{"SLUICE_CONSOLE_URL=http://127.0.0.1:8082",
			"SLUICE_CONSOLE_TOKEN_FILE: not set, nor OIDC_ISSUER, so no operator can log in to the console"},
		{"SLUICE_ADMIN_PPROF=true\nSLUICE_ADMIN_LISTEN=:8081", "profiles can contain prompts and keys"},
	} {
		environ := append(with("SLUICE_TEAMS_FILE="+write(t, someTeams)), strings.Split(tt.variable, "\n")...)
		got := command(t.Context(), environ, "check")
		if got.code != exitClean || !strings.Contains(got.stdout, "# warning: ") || !strings.Contains(got.stdout, tt.says) {
			t.Errorf("%s: want a warning of %q in\n%s", tt.variable, tt.says, got.text())
		}
	}
}

func TestDefaultsAreNotWarnedOf(t *testing.T) {
	got := command(t.Context(), with("SLUICE_TEAMS_FILE="+write(t, someTeams), "SLUICE_REPLICAS=1",
		"SLUICE_UPSTREAM_URL=http://127.0.0.1:9/api/v1"), "check")
	if n := strings.Count(got.stdout, "# warning: "); n != 1 {
		t.Errorf("%d warnings, want one, of memory, in\n%s", n, got.stdout)
	}
}

func TestCheckPrintsTheRulesWithoutAnySetting(t *testing.T) {
	got := command(t.Context(), nil, "check", "--rules")
	if got.code != exitClean || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	for _, id := range append(policy.RuleIDs(), "no gateway can judge") {
		if !strings.Contains(got.stdout, id) {
			t.Errorf("%q is missing", id)
		}
	}
}

func TestKeyIsMintedForTheTeamsFile(t *testing.T) {
	got := command(t.Context(), nil, "key", "--team", "search")
	key, lines, _ := strings.Cut(got.stdout, "\n")
	file, err := teams.Parse([]byte("teams:\n  - id: search\n    keys:\n" + lines))
	if got.code != exitClean || err != nil {
		t.Fatalf("%+v (%v)", got, err)
	}
	if team, _, ok := file.Lookup(key, testTime); !ok || team.ID != "search" {
		t.Errorf("the lines do not admit the key:\n%s", got.stdout)
	}
	if strings.Count(got.stdout, key) != 1 || strings.Contains(got.stderr, key) {
		t.Errorf("the key is not shown exactly once:\n%s%s", got.stdout, got.stderr)
	}
}

func TestKeyForATeamThatCannotBe(t *testing.T) {
	for _, team := range []string{"Search", "", "a b", "a\n  - id: b", "-a", strings.Repeat("a", 64)} {
		if got := command(t.Context(), nil, "key", "--team="+team); got.code != exitFaulty || got.stdout != "" {
			t.Errorf("%q: %+v", team, got)
		}
	}
}

// TestRulesNameTheConfiguredHeader: the table names the service's headers with the configured prefix.
func TestRulesNameTheConfiguredHeader(t *testing.T) {
	for environ, want := range map[string]string{"": "X-Service-", "SLUICE_HEADER_PREFIX=X-Acme-": "X-Acme-"} {
		got := command(t.Context(), []string{environ}, "check", "--rules")
		for _, line := range []string{"  field  " + want + "Async\n", "the header " + want + "SSE: enable", want + "OssResourceResolve: enable",
			"also send " + want + "SSE: enable"} {
			if got.code != 0 || !strings.Contains(got.stdout, line) {
				t.Errorf("%s: exit %d, %q is missing", environ, got.code, line)
			}
		}
		if want != "X-Service-" && strings.Contains(got.stdout, "X-Service-") {
			t.Errorf("%s: the neutral header is in it", environ)
		}
	}
	if got := command(t.Context(), []string{"SLUICE_HEADER_PREFIX=no dash"}, "check", "--rules"); got.code != exitFaulty ||
		!strings.Contains(got.stderr, "SLUICE_HEADER_PREFIX: ") {
		t.Errorf("a faulty prefix: %+v", got)
	}
}
