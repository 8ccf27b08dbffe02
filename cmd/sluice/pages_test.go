package main

import (
	"bytes"
	"context"
	"image/png"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The README and docs/ are held to the program: settings, links, length, and the tour as it stands.

// pages are the README and all of docs/, by their paths from the top of the checkout.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"README.md": readRoot(t, "README.md")}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(names), err)
		}
		for _, name := range names {
			name = strings.TrimPrefix(filepath.ToSlash(name), "../../")
			texts[name] = readRoot(t, name)
		}
	}
	return texts
}

func TestSettingsPageListsEverySettingWithItsDefault(t *testing.T) {
	listed := make(map[string]string)
	for _, row := range regexp.MustCompile("(?m)^\\| `(SLUICE_[A-Z_]+)` \\| (.+?) \\| (.+?) \\| .+ \\|$").FindAllStringSubmatch(readRoot(t, "docs/settings.md"), -1) {
		if _, twice := listed[row[1]]; twice {
			t.Errorf("%s is listed twice", row[1])
		}
		listed[row[1]] = strings.Trim(row[2], "`")
		if row[2] == "–" || row[2] == "required" {
			listed[row[1]] = ""
		}
	}
	if diff := cmp.Diff(defaults(), listed); diff != "" {
		t.Errorf("defaults and docs/settings.md differ (-settings +page):\n%s", diff)
	}
}

func TestPagesNameOnlySettingsThatExist(t *testing.T) {
	named := regexp.MustCompile(`\bSLUICE_[A-Z][A-Z_]*\b`)
	for page, text := range pages(t) {
		for _, name := range named.FindAllString(text, -1) {
			if !slices.Contains(settingNames, name) && !isInjected(name) {
				t.Errorf("%s names %s, which is no setting", page, name)
			}
		}
	}
}

func TestReadmeIsShort(t *testing.T) {
	const most = 220
	if lines := strings.Count(readRoot(t, "README.md"), "\n"); lines > most {
		t.Errorf("README.md has %d lines, at most %d are allowed: details belong into docs/", lines, most)
	}
}

// anchorsOf are the names that a page's headings have in links.
func anchorsOf(text string) (names []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	texts := pages(t)
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?\)`)
	for page, text := range texts {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			target := page
			if match[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), match[1]))
			}
			if _, err := os.Stat("../../" + target); err != nil {
				t.Errorf("%s leads to %s, which does not exist", page, match[1])
			} else if match[2] != "" && !slices.Contains(anchorsOf(texts[target]), match[2]) {
				t.Errorf("%s leads to %s#%s, which is no heading", page, match[1], match[2])
			}
		}
	}
}

// TestPagesAreReached: who starts at the README finds every page.
func TestPagesAreReached(t *testing.T) {
	readme := readRoot(t, "README.md")
	for page := range pages(t) {
		if page != "README.md" && !strings.Contains(readme, "("+page+")") {
			t.Errorf("README.md has no link to %s", page)
		}
	}
}

// tour is the shell script of the README's tour. The binary is this test's; the ports are free ones.
func tour(t *testing.T) string {
	t.Helper()
	_, section, found := strings.Cut(readRoot(t, "README.md"), "\n## A tour\n")
	section, _, ends := strings.Cut(section, "\n## ")
	if !found || !ends {
		t.Fatal("README.md has no tour")
	}
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.+?)```\n").FindAllStringSubmatch(section, -1) {
		script.WriteString(block[1])
	}
	text := script.String()
	for old, now := range map[string]string{
		"go build -o sluice ./cmd/sluice\n":        `ln -s "$(command -v sluice)" sluice` + "\n",
		"PORT=8080 ADMIN=8081 SERVICE=9000\n":      "PORT=" + tourPort(t) + " ADMIN=" + tourPort(t) + " SERVICE=" + tourPort(t) + "\n",
		"> service.log 2>&1 &\n":                   "> service.log 2>&1 &\nuntil curl -s -o first.txt http://127.0.0.1:$SERVICE/; do sleep 0.1; done\n",
		"| grep -E 'SUCCEEDED|FAILED'; do sleep 1": "| grep -E 'SUCCEEDED|FAILED'; do sleep 0.1",
	} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("the tour lacks %q, or has it twice", old)
		}
		text = strings.Replace(text, old, now, 1)
	}
	return "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n" + text
}

// tourPort is a port that was free a moment ago.
func tourPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// TestTour runs the tour as a newcomer would paste it.
func TestTour(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var said bytes.Buffer
	shell := exec.CommandContext(ctx, bash, "-euo", "pipefail", "-c", tour(t))
	shell.Dir, shell.Stdout, shell.Stderr = t.TempDir(), &said, &said
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + shell.Dir, "GORACE=atexit_sleep_ms=20", "SLUICE_SHUTDOWN_DELAY=10ms"}
	shell.Cancel = func() error { return shell.Process.Signal(syscall.SIGTERM) } // the trap ends what it started
	shell.WaitDelay = patience
	if err := shell.Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(shell.Dir, "sluice.log"))
		t.Fatalf("%v; it said\n%s\nand the gateway\n%s", err, said.Bytes(), log)
	}
	for _, want := range []string{
		"SLUICE_UPSTREAM_KEY=[redacted]", `"finish_reason":"stop"`, "\nevent:result\n",
		"400 Bad Request", `the member \"model\" appears twice`, "401 Unauthorized", "404 Not Found",
		`"task_status":"SUCCEEDED"`, "picture.png", "gen2.6-image  image     images    1", "\nready\n",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the tour never says %q; it said\n%s", want, said.String())
		}
	}
	picture, err := os.Open(filepath.Join(shell.Dir, "picture.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = picture.Close() }()
	if _, err := png.DecodeConfig(picture); err != nil {
		t.Errorf("picture.png: %v", err)
	}
}

// TestReadmeMapsTheSource: every package is in the map, and every file that the map names is in its package.
func TestReadmeMapsTheSource(t *testing.T) {
	_, section, _ := strings.Cut(readRoot(t, "README.md"), "\n## Where things are\n")
	section, _, _ = strings.Cut(section, "\n## ")
	packages := make(map[string][]string) // directory → its files that are no tests
	for _, pattern := range []string{"../../*/*.go", "../../*/*/*.go", "../../*/*/*/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			directory := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../../")
			if !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(directory, "test") {
				packages[directory] = append(packages[directory], filepath.Base(name))
			}
		}
	}
	for directory := range packages {
		if !strings.Contains(section, "`"+directory+"`") {
			t.Errorf("README.md does not say what %s is for", directory)
		}
	}
	named := regexp.MustCompile("((?:`[a-z_]+\\.go`(?:, )?)+) in `([a-z/]+)`")
	for _, match := range named.FindAllStringSubmatch(section, -1) {
		files, known := packages[match[2]]
		for _, file := range regexp.MustCompile(`[a-z_]+\.go`).FindAllString(match[1], -1) {
			if known && !slices.Contains(files, file) {
				t.Errorf("README.md names %s in %s, which has no such file", file, match[2])
			}
		}
	}
}
