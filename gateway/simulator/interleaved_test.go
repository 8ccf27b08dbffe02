package simulator

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tale is a request for an interleaved answer.
func tale(parameters string) string {
	return `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"A quiet lake"}]}]},
		"parameters":{` + parameters + `}}`
}

// both headers of the asynchronous path.
var asyncSSE = append([]string{"X-Service-Sse", "enable"}, async...)

// plot is the content of a stream: T for text, I for an image, and the growth of the usage.
type plot struct {
	kinds  string
	images []float64
	sizes  []string
	last   object
}

// read follows a stream of an interleaved answer.
func read(t *testing.T, events []event) plot {
	t.Helper()
	var p plot
	for i, e := range events {
		o := e.object(t)
		content, _ := at(o, "output", "choices", 0, "message", "content").([]any)
		if len(content) != 1 {
			t.Fatalf("frame %d has %d items", i, len(content))
		}
		kind := "I"
		switch at(content[0], "type") {
		case "text":
			if kind = "T"; at(content[0], "text") == "" || at(content[0], "image") != nil {
				t.Errorf("frame %d is %v", i, content[0])
			}
		case "image":
			if at(content[0], "image") == nil || at(content[0], "text") != nil {
				t.Errorf("frame %d is %v", i, content[0])
			}
		default:
			t.Errorf("frame %d is %v", i, content[0])
		}
		if !strings.HasSuffix(p.kinds, kind) || kind == "I" {
			p.kinds += kind
		}
		p.images = append(p.images, at(o, "usage", "image_count").(float64))
		p.sizes = append(p.sizes, at(o, "usage", "size").(string))
		want := "null"
		if i == len(events)-1 {
			want = "stop"
		}
		if got := at(o, "output", "choices", 0, "finish_reason"); got != want {
			t.Errorf("frame %d of %d has finish_reason %v", i, len(events), got)
		}
		p.last = o
	}
	return p
}

func TestInterleavedStream(t *testing.T) {
	r := newRig(t, Config{})
	p := read(t, r.post(multimodalPath, tale(`"stream":true,"max_images":1`), sse...).events(t))
	if p.kinds != "TI" {
		t.Errorf("one image gives %s", p.kinds)
	}
	p = read(t, r.post(multimodalPath, tale(`"stream":true,"max_images":5`), sse...).events(t))
	if p.kinds != "TITITITITI" && p.kinds != "TITITITI" {
		t.Errorf("up to five images give %s", p.kinds)
	}
	told := 0.
	for i, n := range p.images {
		if n < told || n > told+1 {
			t.Errorf("frame %d counts %v images after %v", i, n, told)
		}
		told = n
		if want := map[bool]string{true: "0*0", false: "1280*1280"}[n == 0]; p.sizes[i] != want {
			t.Errorf("frame %d with %v images has size %s, want %s", i, n, p.sizes[i], want)
		}
	}
	u := p.last["usage"]
	if told != float64(strings.Count(p.kinds, "I")) || at(u, "total_tokens") != at(u, "input_tokens").(float64)+at(u, "output_tokens").(float64) {
		t.Errorf("usage is %v for %s", u, p.kinds)
	}
	if at(p.last, "output", "task_id") != nil {
		t.Error("a stream on the multimodal path has a task id")
	}
}

func TestInterleavedIsBilledByImage(t *testing.T) {
	r := newRig(t, Config{})
	p := read(t, r.post(multimodalPath, tale(``), sse...).events(t))
	want := []Spend{{"gen2.6-image", UnitImages, int64(p.images[len(p.images)-1])}}
	if diff := cmp.Diff(want, r.Tally().Spent); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
	r.Reset()
	r.SetFault(Fault{Error: &FaultError{}, After: len(p.images) - 1})
	r.post(multimodalPath, tale(``), sse...)
	if got := r.Tally().Images; got != want[0].Amount-1 {
		t.Errorf("a stream that fails before its last frame costs %d images, want %d", got, want[0].Amount-1)
	}
}

func TestInterleavedOnTheMultimodalPath(t *testing.T) {
	r := newRig(t, Config{})
	for _, parameters := range []string{`"stream":true`, `"enable_interleave":true`} {
		r.post(multimodalPath, tale(parameters)).want(t, 400, "InvalidParameter")
	}
	for _, bad := range []string{`"n":2`, `"max_images":6`, `"size":"1K"`} {
		e := r.post(multimodalPath, tale(bad), sse...).events(t)
		if len(e) != 1 || e[0].name != "error" || e[0].status != "400" {
			t.Errorf("%s: %+v", bad, e)
		}
	}
	if e := r.post(multimodalPath, tale(``), asyncSSE...).events(t); e[0].status != "403" {
		t.Errorf("with the async header: %+v", e)
	}
}

// wantContent checks the kinds of a whole interleaved message's items.
func wantContent(t *testing.T, content any, want string) {
	t.Helper()
	kinds := ""
	list, _ := content.([]any)
	for _, item := range list {
		kinds += strings.ToUpper(at(item, "type").(string)[:1])
	}
	if kinds != want {
		t.Errorf("items are %s, want %s", kinds, want)
	}
}

func TestInterleavedTaskAsAStream(t *testing.T) {
	r := newRig(t, paced)
	events := r.post(imagePath, tale(`"enable_interleave":true,"stream":true,"max_images":1`), asyncSSE...).events(t)
	p := read(t, events)
	id, _ := at(p.last, "output", "task_id").(string)
	for i, e := range events {
		out, last := at(e.object(t), "output"), i == len(events)-1
		want := map[bool]string{false: "RUNNING", true: "SUCCEEDED"}[last]
		if at(out, "task_id") != id || id == "" || at(out, "task_status") != want || at(out, "finished") != last {
			t.Errorf("frame %d is %v", i, out)
		}
	}
	if p.kinds != "TI" || r.Tally().Images != 1 {
		t.Errorf("told %s, billed %d images", p.kinds, r.Tally().Images)
	}
	// The same task can be polled; nothing is billed twice.
	o := r.poll(id)
	wantContent(t, at(o, "output", "choices", 0, "message", "content"), "TI")
	if at(o, "output", "task_status") != "SUCCEEDED" || at(o, "usage", "image_count") != 1. || r.Tally().Images != 1 {
		t.Errorf("polled %v, billed %d", o, r.Tally().Images)
	}
	if diff := cmp.Diff(at(p.last, "usage"), o["usage"]); diff != "" {
		t.Errorf("usage of the stream and of the poll differ:\n%s", diff)
	}
}

func TestInterleavedTaskWhileItStreams(t *testing.T) {
	r := newRig(t, paced)
	r.SetFault(Fault{On: EndpointImage, Stall: "body", After: 1})
	resp, err := r.client.Do(r.request("POST", imagePath, tale(`"enable_interleave":true,"stream":true`), asyncSSE...))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	e, err := readEvent(bufio.NewReader(resp.Body))
	if err != nil {
		t.Fatal(err)
	}
	id := at(e.object(t), "output", "task_id").(string)
	r.clock.Advance(time.Minute)
	if got := at(r.poll(id), "output", "task_status"); got != "RUNNING" || r.Tally().Images != 0 {
		t.Errorf("while it streams it is %v, billed %d images", got, r.Tally().Images)
	}
	resp.Body.Close() // the client leaves; the task runs on
	await(t, func() bool { return r.Tally().Images > 3 })
	if got := at(r.poll(id), "output", "task_status"); got != "SUCCEEDED" {
		t.Errorf("after the client left it is %v", got)
	}
}

func TestInterleavedTaskThatIsCut(t *testing.T) {
	r := newRig(t, paced)
	for _, fault := range []Fault{{Cut: "reset", After: 1}, {Error: &FaultError{}, After: 1}, {Drop: "close"}} {
		r.Reset()
		r.SetFault(fault)
		r.post(imagePath, tale(`"enable_interleave":true,"stream":true,"max_images":1`), asyncSSE...)
		await(t, func() bool { return r.Tally().Images == 1 })
	}
}

func TestInterleavedChinese(t *testing.T) {
	r := newRig(t, Config{})
	g := r.post(multimodalPath, strings.Replace(tale(`"max_images":1`), "A quiet lake", "安静的湖", 1), sse...)
	var text string
	for _, e := range g.events(t) {
		s, _ := at(e.object(t), "output", "choices", 0, "message", "content", 0, "text").(string)
		text += s
	}
	if !strings.Contains(text, "“安静的湖”") {
		t.Errorf("the story is %q", text)
	}
}
