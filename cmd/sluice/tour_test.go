package main

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sluice/policy/limit/limittest"
)

// tour is the shell script of a page's section, with the test's binary and free ports.
func tour(t *testing.T, page, heading string) string {
	t.Helper()
	_, section, found := strings.Cut(readRoot(t, page), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatalf("%s has no section %s", page, heading)
	}
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.+?)```\n").FindAllStringSubmatch(section, -1) {
		script.WriteString(block[1])
	}
	text := script.String()
	for old, now := range map[string]string{
		"mkdir -p trial && go build -o trial ./cmd/sluice && cd trial\n": `mkdir -p trial && ln -s "$(command -v sluice)" trial/sluice ` +
			`&& cd trial` + "\n",
		"PORT=8080 ADMIN=8081 SERVICE=9000\n": "PORT=" + fmt.Sprint(limittest.FreePort(t)) + " ADMIN=" +
			fmt.Sprint(limittest.FreePort(t)) + " SERVICE=" + fmt.Sprint(limittest.FreePort(t)) + "\n",
		"> service.log 2>&1 &\n": "> service.log 2>&1 &\nuntil curl -s -o first.txt http://127.0.0.1:$SERVICE/; do sleep " +
			"0.1; done\n",
		"| grep -E 'SUCCEEDED|FAILED'; do sleep 1": "| grep -E 'SUCCEEDED|FAILED'; do sleep 0.1",
	} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("the tour lacks %q, or has it twice", old)
		}
		text = strings.Replace(text, old, now, 1)
	}
	return endJobs + text
}

const endJobs = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n"

// blockOf is the block of commands of a page with a word behind its fence.
func blockOf(t *testing.T, page, word string) string {
	t.Helper()
	found := regexp.MustCompile("(?s)\n```sh "+word+"\n(.+?)```\n").FindAllStringSubmatch(readRoot(t, page), -1)
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks %s", page, len(found), word)
	}
	return found[0][1]
}

// runTour runs a tour as a newcomer would paste it.
func runTour(t *testing.T, page, heading string) (said, dir string) {
	t.Helper()
	return runScript(t, tour(t, page, heading))
}

// runScript runs a script of the pages. It returns what was printed, and where it ran, which has a copy of docs/demo.
func runScript(t *testing.T, script string, environ ...string) (said, dir string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir = t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "docs", "demo"), 0o700))
	for _, name := range []string{"docs/demo/prices.yaml", "docs/demo/map.yaml"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(readRoot(t, name)), 0o600))
	}
	var printed bytes.Buffer
	shell := exec.CommandContext(ctx, bash, "-euo", "pipefail", "-c", script)
	shell.Dir, shell.Stdout, shell.Stderr = dir, &printed, &printed
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + shell.Dir, "GORACE=atexit_sleep_ms=20", "SLUICE_SHUTDOWN_DELAY=10ms"}
	shell.Env = append(shell.Env, environ...)
	shell.Cancel = func() error { return shell.Process.Signal(syscall.SIGTERM) } // the trap ends what it started
	shell.WaitDelay = patience
	if err := shell.Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(shell.Dir, "sluice.log"))
		inTrial, _ := os.ReadFile(filepath.Join(shell.Dir, "trial", "sluice.log"))
		t.Fatalf("%v; it said\n%s\nand the gateway\n%s%s", err, printed.Bytes(), log, inTrial)
	}
	return printed.String(), dir
}

func TestTour(t *testing.T) {
	t.Parallel()
	said, dir := runTour(t, "README.md", "A tour")
	for _, want := range []string{
		"SLUICE_UPSTREAM_KEY=[redacted]", `"finish_reason":"stop"`, "\nevent:result\n",
		"400 Bad Request", `the member \"model\" appears twice`, "401 Unauthorized", "404 Not Found",
		`"task_status":"SUCCEEDED"`, "picture.png", "gen2.6-image  image     images    1", "\nready\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the tour never prints %q; it said\n%s", want, said)
		}
	}
	picture, err := os.Open(filepath.Join(dir, "trial", "picture.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = picture.Close() }()
	if _, err := png.DecodeConfig(picture); err != nil {
		t.Errorf("picture.png: %v", err)
	}
}

// TestTheFirstHour: docs/start.md can be tried as it says, from nothing to a first team.
func TestTheFirstHour(t *testing.T) {
	t.Parallel()
	script := endJobs
	for _, word := range []string{"team", "trial", "try", "through", "first"} {
		script += blockOf(t, "docs/start.md", word)
		if word == "trial" {
			script += "until sluice health 2> health.txt; do sleep 0.1; done\n"
		}
	}
	environ := []string{"SLUICE_ADMIN_LISTEN=127.0.0.1:" + fmt.Sprint(limittest.FreePort(t)), "SLUICE_CONSOLE_LISTEN=off"}
	if sdk := os.Getenv("SDK_DIR"); sdk != "" {
		script += blockOf(t, "docs/start.md", "library")
		environ = append(environ, "PATH="+filepath.Join(sdk, "openai", "bin")+":"+os.Getenv("PATH"))
	}
	gateway := fmt.Sprint(limittest.FreePort(t))
	script = strings.NewReplacer("127.0.0.1:9000", "127.0.0.1:"+fmt.Sprint(limittest.FreePort(t)), "127.0.0.1:8080", "127.0.0.1:"+gateway,
		"/team-key\n", "/team-key --silence 1s\n").Replace(script)
	said, dir := runScript(t, script+"\nsluice usage\n", append(environ, "SLUICE_LISTEN=127.0.0.1:"+gateway)...)
	for _, want := range []string{
		"\n# team search: 1 key,", "\nok: the service, account main, ", "\nok: a POST without an answer is sent once\n",
		`"finish_reason":"stop"`, "search  in all",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the first hour never prints %q; it said\n%s", want, said)
		}
	}
	for _, secret := range []string{"team-key", "upstream-key"} {
		if info, err := os.Stat(filepath.Join(dir, "deploy", "secrets", secret)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", secret, info, err)
		}
	}
}

// TestTourOfMoney: the page's commands end with a bill that is the ledger's.
func TestTourOfMoney(t *testing.T) {
	t.Parallel()
	said, _ := runTour(t, "docs/money.md", "Try it")
	for _, want := range []string{
		"cache hit input tokens", "thinking output tokens", "images up to 1048576 pixels,1,piece,0.14,0.14", "\nno difference\n",
		"the bill is for account simulated-account\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the tour never prints %q; it said\n%s", want, said)
		}
	}
}

// TestTourOfAccounts: the page's commands show failover, cooling and draining.
func TestTourOfAccounts(t *testing.T) {
	t.Parallel()
	said, _ := runTour(t, "docs/accounts.md", "Try it")
	for _, want := range []string{
		"# account spare: http://127.0.0.1:", `sluice_account_failovers_total{account="main",reason="throttled"} 1`,
		"account main: cooling since ", `: Throttling.RateQuota; "llm-max" until `,
		"account main: ok;", "account main: draining;", `"task_status":"SUCCEEDED"`, "\nspare /api/v1/services/aigc/text-generation/generation\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the tour never prints %q; it said\n%s", want, said)
		}
	}
}

// curlMain implements as much of curl as the lines of the demonstration and of the tour use, so that they are tested as
// they are on a machine without curl.
func curlMain() {
	if err := curl(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(1)
	}
}

func curl(args []string) error {
	method, body, after, file := http.MethodGet, "", "", ""
	url, header, include := "", http.Header{}, false
	for i := 0; i < len(args); i++ {
		value := func() string { i++; return args[i] }
		switch arg := args[i]; arg {
		case "-s", "-sN", "-N":
		case "-i":
			include = true
		case "-w":
			after = strings.ReplaceAll(value(), `\n`, "\n")
		case "-o":
			file = value()
		case "-H":
			name, content, _ := strings.Cut(value(), ": ")
			header.Add(name, content)
		case "-d":
			method, body = http.MethodPost, value()
		case "-X":
			method = value()
		default:
			if url != "" || strings.HasPrefix(arg, "-") {
				return fmt.Errorf("%s: not in this curl", arg)
			}
			url = arg
		}
	}
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if include {
		fmt.Printf("%s %s\r\n", answer.Proto, answer.Status)
		if answer.Close {
			answer.Header.Set("Connection", "close") // net/http removes it
		}
		_ = answer.Header.Write(os.Stdout)
		fmt.Print("\r\n")
	}
	out := os.Stdout
	if file != "" {
		if out, err = os.Create(file); err != nil {
			return err
		}
		defer func() { _ = out.Close() }()
	}
	size, err := io.Copy(out, answer.Body)
	fmt.Print(strings.NewReplacer(
		"%{http_code}", strconv.Itoa(answer.StatusCode), "%{content_type}", answer.Header.Get("Content-Type"), "%{size_download}",
		strconv.FormatInt(size, 10),
	).Replace(after))
	return err
}
