package simulator

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/wire anew")

// The parts of a recorded answer that differ from run to run.
var volatile = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "BASE"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`Signature=[^&"]+`), "Signature=SIGNATURE"},
}

// recorded is an answer in the form of a golden file.
func recorded(g got) string {
	text := fmt.Sprintf("%d %s\n\n%s\n", g.status, g.header.Get("Content-Type"), g.body)
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.name)
	}
	return text
}

// The exact answers of every endpoint: a change of the wire format shows here in full, and in the diff of its commit.
func TestWire(t *testing.T) {
	r := newRig(t, Config{Pending: time.Second, Running: time.Second, FrameTokens: 12})
	task := r.createTask(imagePath, edit(`"n":2`))
	r.SetFault(Fault{Task: &FaultTask{Outcome: "fail"}})
	failed, olderFailed := r.createTask(imagePath, edit(``)), r.createTask(olderPath, older(``))
	r.SetFault(Fault{Task: &FaultTask{Outcome: "fail_pending"}})
	failedPending := r.createTask(imagePath, edit(``))
	r.SetFault(Fault{Task: &FaultTask{Outcome: "partial", Failed: 2}})
	partial, olderPartial := r.createTask(imagePath, edit(`"n":3`)), r.createTask(olderPath, older(`"n":3,"prompt_extend":false`))
	r.SetFault()
	canceled := r.createTask(imagePath, edit(``))
	r.advance(500 * time.Millisecond)
	r.post(tasksPath+"/"+canceled+"/cancel", "")
	r.advance(time.Minute)
	running := r.createTask(imagePath, edit(``))
	r.advance(1500 * time.Millisecond)
	pending := r.createTask(imagePath, edit(``))
	post := func(path, body string, header ...string) func() got {
		return func() got { return r.post(path, body, header...) }
	}
	faulty := func(f Fault, ask func() got) func() got {
		return func() got {
			r.SetFault(f)
			defer r.SetFault()
			return ask()
		}
	}
	get := func(path string, header ...string) func() got {
		return func() got { return r.get(path, header...) }
	}
	const vision = `{"model":"llm-vision","input":{"messages":[{"role":"user","content":[
		{"image":"https://a.example/b.png"},{"text":"What is this?"}]}]},"parameters":{"max_tokens":20,"vl_enable_image_hw_output":true}}`
	requests := map[string]func() got{
		"text":              post(textPath, say("What is a sluice?", ``)),
		"text-chinese":      post(textPath, say("水闸是什么？", ``)),
		"text-message":      post(textPath, say("What is a sluice?", `"result_format":"message","max_tokens":12`)),
		"text-tools":        post(textPath, say("How high is it?", levels)),
		"text-thinking":     post(textPath, say("What is a sluice?", `"result_format":"message","enable_thinking":true,"max_tokens":8`)),
		"text-logprobs":     post(textPath, say("hi", `"result_format":"message","logprobs":true,"top_logprobs":1,"max_tokens":2`)),
		"text-refused":      post(textPath, say("hi", `"top_p":2`)),
		"stream-increments": post(textPath, say("What is a sluice?", `"incremental_output":true,"max_tokens":30`), sse...),
		"stream-cumulative": post(textPath, say("What is a sluice?", `"max_tokens":30`), sse...),
		"stream-thinking": post(textPath, say("水闸", `"result_format":"message","enable_thinking":true,"incremental_output":true,`+
			`"max_tokens":20`), sse...),
		"stream-tools":       post(textPath, say("How high is it?", levels+`,"incremental_output":true`), sse...),
		"stream-refused":     post(textPath, say("hi", `"top_p":2`), sse...),
		"stream-failed":      faulty(Fault{Error: &FaultError{Status: 500}, After: 1}, post(textPath, say("hi", `"max_tokens":30`), sse...)),
		"vision":             post(multimodalPath, vision),
		"image":              post(multimodalPath, draw(`"size":"1280*720"`)),
		"interleaved":        post(multimodalPath, tale(`"max_images":3`), sse...),
		"task-created":       post(imagePath, edit(``), async...),
		"task-streamed":      post(imagePath, tale(`"enable_interleave":true,"stream":true,"max_images":1`), asyncSSE...),
		"task-succeeded":     get(tasksPath + "/" + task),
		"task-failed":        get(tasksPath + "/" + failed),
		"task-failed-older":  get(tasksPath + "/" + olderFailed),
		"task-failed-early":  get(tasksPath + "/" + failedPending),
		"task-pending":       get(tasksPath + "/" + pending),
		"task-running":       get(tasksPath + "/" + running),
		"task-partial-older": get(tasksPath + "/" + olderPartial),
		"task-canceled":      get(tasksPath + "/" + canceled),
		"task-partial":       get(tasksPath + "/" + partial),
		"task-unknown":       get(tasksPath + "/00000000-0000-4000-8000-000000000000"),
		"task-not-async":     post(imagePath, edit(``)),
		"cancel-too-late":    post(tasksPath+"/"+task+"/cancel", ""),
		"list":               get(tasksPath + "?task_id=" + task),
		"list-empty":         get(tasksPath + "/?task_id=nobody"),
		"cancel":             post(tasksPath+"/"+r.createTask(imagePath, edit(``))+"/cancel/", ""),
		"method":             get(textPath),
		"key":                get(tasksPath, "Authorization", "Bearer other"),
		"uploads":            get("/api/v1/uploads?action=getPolicy&model=llm-vision"),
		"not-found":          get("/api/v1/nowhere"),
	}
	if files, err := filepath.Glob("testdata/wire/*.txt"); err != nil || len(files) != len(requests) {
		t.Errorf("%d recordings of %d requests, %v", len(files), len(requests), err)
	}
	for name, ask := range requests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "wire", name+".txt")
			got := recorded(ask())
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("answer is\n%s\nrecorded is\n%s", got, want)
			}
		})
	}
}
