package simulator

import (
	"bufio"
	"slices"
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

// kinds are the items of a message's content: T for text, I for an image.
func kinds(content any) (out string) {
	list, _ := content.([]any)
	for _, item := range list {
		out += strings.ToUpper(get[string](item, "type")[:1])
	}
	return out
}

// itemsOf are the items of a stream, its frames of one text taken together, and the last frame.
func itemsOf(t *testing.T, events []event) (out string, last object) {
	t.Helper()
	for _, e := range events {
		last = e.object(t)
		if kind := kinds(at(last, "output", "choices", 0, "message", "content")); kind == "I" || !strings.HasSuffix(out, kind) {
			out += kind
		}
	}
	return out, last
}

// The recorded answers show what the frames hold and how the usage grows.
func TestInterleavedStream(t *testing.T) {
	r := newRig(t, Config{})
	for most, want := range map[string][]string{"1": {"TI"}, "2": {"TI", "TITI"}, "5": {"TITITITI", "TITITITITI"}} {
		events := r.post(multimodalPath, tale(`"stream":true,"max_images":`+most), sse...).events(t)
		items, last := itemsOf(t, events)
		if !slices.Contains(want, items) || at(last, "usage", "image_count") != float64(strings.Count(items, "I")) || at(last, "output", "task_id") != nil {
			t.Errorf("up to %s images give %s and end in %v", most, items, last)
		}
	}
}

func TestInterleavedIsBilledByImage(t *testing.T) {
	r := newRig(t, Config{})
	events := r.post(multimodalPath, tale(``), sse...).events(t)
	_, last := itemsOf(t, events)
	want := []Spend{{"gen2.6-image", UnitImages, int64(at(last, "usage", "image_count").(float64))}}
	if diff := cmp.Diff(want, r.Tally().Spent); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
	r.Reset()
	r.with(Fault{Error: &FaultError{}, After: len(events) - 1}).post(multimodalPath, tale(``), sse...)
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

func TestInterleavedTaskAsAStream(t *testing.T) {
	r := newRig(t, paced)
	events := r.post(imagePath, tale(`"enable_interleave":true,"stream":true,"max_images":1`), asyncSSE...).events(t)
	items, end := itemsOf(t, events)
	id, _ := at(end, "output", "task_id").(string)
	for i, e := range events {
		out, last := at(e.object(t), "output"), i == len(events)-1
		want := map[bool]string{false: "RUNNING", true: "SUCCEEDED"}[last]
		if at(out, "task_id") != id || id == "" || at(out, "task_status") != want || at(out, "finished") != last {
			t.Errorf("frame %d is %v", i, out)
		}
	}
	if items != "TI" || r.Tally().Images != 1 {
		t.Errorf("told %s, billed %d images", items, r.Tally().Images)
	}
	// The same task can be polled; nothing is billed twice.
	o := r.poll(id)
	if kinds(at(o, "output", "choices", 0, "message", "content")) != "TI" || at(o, "output", "task_status") != "SUCCEEDED" || r.Tally().Images != 1 {
		t.Errorf("polled %v, billed %d", o, r.Tally().Images)
	}
	if diff := cmp.Diff(at(end, "usage"), o["usage"]); diff != "" {
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
