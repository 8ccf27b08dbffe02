package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sluice/gateway/simulator"
)

// codexConfig tells Codex where it finds models. It takes no other address from its environment.
const codexConfig = `model = "llm-max"
model_provider = "sluice"
[model_providers.sluice]
name = "Sluice"
base_url = "%s/v1"
env_key = "OPENAI_API_KEY"
[analytics]
enabled = false
`

// TestAgentsEditAFile: agents that know nothing of Sluice edit a file in a folder, by calls of their own tools that the service makes.
func TestAgentsEditAFile(t *testing.T) {
	t.Parallel()
	dir := sdkDir(t)
	const task = "Paint the mill in mill.txt blue."
	claude, err := filepath.Glob(filepath.Join(dir, "node_modules/@anthropic-ai/claude-code-linux-*/claude"))
	must(t, err)
	if len(claude) == 0 {
		t.Fatal("Claude Code is not installed")
	}
	claude[0], err = filepath.Rel(dir, claude[0])
	must(t, err)
	for _, tt := range []struct {
		library
		script func(file string) [][]simulator.ScriptedCall
	}{
		{library{"Claude Code", []string{claude[0], "--print", "--bare", "--model", "claude-opus", "--allowedTools=Read,Edit", "--", task}, nil},
			func(file string) [][]simulator.ScriptedCall {
				return [][]simulator.ScriptedCall{
					{scriptedCall(t, "Read", map[string]string{"file_path": file})},
					{scriptedCall(t, "Edit", map[string]string{"file_path": file, "old_string": "red", "new_string": "blue"})},
				}
			}},
		{library{"Codex", []string{"node/bin/node", filepath.Join(dir, "node_modules/@openai/codex/bin/codex.js"), "exec",
			"--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", task}, nil}, func(string) [][]simulator.ScriptedCall {
			return [][]simulator.ScriptedCall{{scriptedCall(t, "exec_command", map[string]string{"cmd": "sed -i s/red/blue/ mill.txt"})}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			file := filepath.Join(folder, "mill.txt")
			must(t, os.WriteFile(file, []byte("The mill is red.\n"), 0o600))
			script := tt.script(file)
			service, upstream := newService(t, simulator.Config{Script: script})
			h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, someTeams+"aliases: {\"claude-*\": llm-max}\n"))
			must(t, os.Mkdir(filepath.Join(folder, ".codex"), 0o700))
			must(t, os.WriteFile(filepath.Join(folder, ".codex/config.toml"), fmt.Appendf(nil, codexConfig, "http://"+h.public), 0o600))
			stdout, stderr, err := tt.run(t, folder, "http://"+h.public, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
			text, _ := os.ReadFile(file)
			if asked := service.Count(simulator.EndpointText); err != nil || string(text) != "The mill is blue.\n" || asked < len(script)+1 {
				t.Errorf("%v: the file has %q after %d requests; it said\n%s%s", err, text, asked, stdout, stderr)
			}
			if code := h.stop(); code != exitClean {
				t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
			}
		})
	}
}

// scriptedCall is a call of a tool with these arguments.
func scriptedCall(t *testing.T, name string, arguments map[string]string) simulator.ScriptedCall {
	t.Helper()
	text, err := json.Marshal(arguments)
	must(t, err)
	return simulator.ScriptedCall{Name: name, Arguments: string(text)}
}
