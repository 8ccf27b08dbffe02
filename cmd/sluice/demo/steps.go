package demo

import (
	"io"
	"strings"

	"sluice/gateway/upstream"
)

// Write writes the lines to paste.
func Write(w io.Writer, base string, teams Teams) error {
	var text strings.Builder
	text.WriteString("# Sluice is at " + base + " until Ctrl-C. These lines can be pasted into another terminal.\n")
	for _, step := range Steps(base, teams) {
		text.WriteString("\n# " + step.About + "\n" + step.Line + "\n")
	}
	text.WriteString("\n# With OpenAI's library for Python, after pip install openai. The lines inside can be pasted into Python, too.\n" +
		"python3 - <<'END'\n" + Python(strings.TrimSuffix(base, "/api/v1")+"/v1", teams.Search.Reveal()) + "END\n")
	_, err := io.WriteString(w, text.String())
	return err
}

// Step is one line of the demonstration, for a POSIX shell with curl, grep and sed.
type Step struct{ About, Line string }

// Steps returns the lines in order; those with $TASK depend on the one that sets it. The comments have no quotes or brackets, because
// an interactive shell may execute comments.
func Steps(base string, teams Teams) []Step {
	task := line(quiet, teams.Search, base+"/tasks/$TASK")
	return []Step{
		{"Text, with the key of team search.", post(quiet, teams.Search, base+TextPath, Text)},
		{"The same as a stream.", post("curl -sN -H 'X-Service-SSE: enable'", teams.Search, base+TextPath, Stream)},
		{"Vectors of two texts, for a search.", post(quiet, teams.Search, strings.TrimSuffix(base, "/api/v1")+"/v1/embeddings", Texts)},
		{"A synchronous image: the answer holds its address, to open in a browser.", post(quiet, teams.Search, base+MultimodalPath, Picture)},
		{"An asynchronous image task: created,", "TASK=$(" + post(quiet+async, teams.Search, base+ImagePath, Edit) +
			` | sed 's/.*"task_id":"\([^"]*\)".*/\1/'); echo "$TASK"`},
		{"polled to its end, which takes some 4 seconds,", "until " + task +
			` | grep -oE '"task_status":"[A-Z]+"' | tee /dev/stderr | grep -qE 'SUCCEEDED|FAILED'; do sleep 1; done`},
		{"and its images.", task},
		{
			"The first of them again, from the store of Sluice itself, where it stays.",
			"until " + line(sizes, teams.Search, strings.TrimSuffix(base, "/api/v1")+"/sluice/v1/tasks/$TASK/results/1") +
				" | grep 200; do sleep 1; done",
		},
		{"To another team the task does not exist: 404.", line(quiet+" -i", teams.Ads, base+"/tasks/$TASK")},
		{"Team ads may not use that model: 403.", post(quiet+" -i"+async, teams.Ads, base+ImagePath, Edit)},
		{"A wrong key: 401.", line(quiet+" -i", "slk_wrong", base+"/tasks")},
	}
}

// How the lines call curl: without its progress bar, and with a line end after the body.
const (
	quiet = `curl -s -w '\n'`
	sizes = `curl -s -o /dev/null -w '%{http_code} %{content_type} %{size_download}\n'`
	async = " -H 'X-Service-Async: enable'"
)

// Paths of the service, behind the version prefix.
const (
	TextPath       = "/services/aigc/text-generation/generation"
	MultimodalPath = "/services/aigc/multimodal-generation/generation"
	ImagePath      = "/services/aigc/image-generation/generation"
	EmbeddingsPath = "/services/embeddings/text-embedding/text-embedding"
)

// Bodies of the demonstration.
const (
	Text = `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"What is a sluice?"}]},` +
		`"parameters":{"result_format":"message"}}`
	Stream = `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"What is a sluice?"}]},` +
		`"parameters":{"result_format":"message","incremental_output":true}}`
	Texts   = `{"model":"llm-embedding","input":["A mill by a river","A lock in a canal"],"dimensions":8}`
	Picture = `{"model":"llm-image-2.0","input":{"messages":[{"role":"user","content":[{"text":"A mill by a river"}]}]},` +
		`"parameters":{"size":"1024*768"}}`
	Edit = `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"The same mill in winter"},` +
		`{"image":"https://pictures.example/mill.png"}]}]},"parameters":{"n":2,"size":"1280*720"}}`
)

// line returns a curl call with a key, which only this demonstration knows.
func line(curl string, key upstream.Secret, url string) string {
	return strings.Join([]string{curl, url, "-H 'Authorization: Bearer " + key.Reveal() + "'"}, " ")
}

func post(curl string, key upstream.Secret, url, body string) string {
	return line(curl, key, url) + " -H 'Content-Type: application/json' -d '" + body + "'"
}

// Python returns five lines for OpenAI's library for Python. Each is a statement that can also be typed into an interpreter.
func Python(base, key string) string {
	return `from openai import OpenAI
client = OpenAI(base_url="` + base + `", api_key="` + key + `")
chat = client.chat.completions.create(model="llm-plus", messages=[{"role": "user", "content": "What is a sluice?"}])
picture = client.images.generate(model="gen2.5-t2i", prompt="A mill in winter", n=1)
print(chat.choices[0].message.content, picture.data[0].url, sep="\n")
`
}
