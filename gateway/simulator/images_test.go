package simulator

import (
	"bufio"
	"fmt"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/simulator/picture"
)

func TestSyncImage(t *testing.T) {
	r := newRig(t, Config{})
	for parameters, want := range map[string][3]float64{``: {1024, 1024, 1}, `"size":"1664*928"`: {1664, 928, 1},
		`"size":"512*768","n":3`: {512, 768, 3}} {
		o := r.post(multimodalPath, draw(parameters), sse...).object(t) // an image is never a stream
		if diff := cmp.Diff(object{"width": want[0], "height": want[1], "image_count": want[2]}, o["usage"]); diff != "" {
			t.Errorf("%s: usage (-want +got):\n%s", parameters, diff)
		}
		choices := get[[]any](o, "output", "choices")
		for _, c := range choices {
			if !strings.HasPrefix(text(c, "message.content.0.image"), r.server.URL+"/pictures/") || at(c, "finish_reason") != "stop" ||
				at(c, "message.role") != "assistant" {
				t.Errorf("choice is %v", c)
			}
		}
		if len(choices) != int(want[2]) {
			t.Errorf("%s: %d choices, want %v", parameters, len(choices), want[2])
		}
	}
}

func TestWhichKindTheMultimodalPathAnswers(t *testing.T) {
	r := newRig(t, Config{})
	body := `{"model":"MODEL","input":{"messages":[{"role":"user","content":[{"text":"A lake"}]}]}}`
	for _, tt := range []struct {
		model  string
		header []string
		want   string
	}{
		{"llm-image", nil, "image"}, {"llm-image-2.0-pro-2026-06-22", sse, "image"}, {"gen2.6-t2i", nil, "image"},
		{"gen2.6-image", sse, "interleaved"}, {"gen2.6-image", nil, "chat"}, {"llm-vision", nil, "chat"},
	} {
		g := r.post(multimodalPath, strings.Replace(body, "MODEL", tt.model, 1), tt.header...)
		kind := "chat"
		switch {
		case strings.Contains(g.body, `"width"`):
			kind = "image"
		case strings.Contains(g.body, `"image_count"`):
			kind = "interleaved"
		}
		if kind != tt.want {
			t.Errorf("%s with %q is answered with %s, want %s", tt.model, tt.header, kind, tt.want)
		}
	}
}

// addressOf draws synchronously and returns the image's address.
func (r *rig) addressOf(parameters string) string { return r.addressIn(draw(parameters)) }

func (r *rig) addressIn(body string) string {
	r.Helper()
	address := text(r.post(multimodalPath, body).object(r), "output.choices.0.message.content.0.image")
	if address == "" {
		r.Fatal("there is no image")
	}
	return address
}

// fetch gets an address without a key.
func (r *rig) fetch(address string) got {
	r.Helper()
	return r.do("GET", strings.TrimPrefix(address, r.server.URL), "", "Authorization", "")
}

// A picture has its size. It differs only by prompt, seed and watermark.
func TestPicture(t *testing.T) {
	r := newRig(t, Config{})
	for _, size := range []string{"640*480", "16*16", "1*1", "1024*768"} {
		want, _ := picture.ParseSize(size)
		g := r.fetch(r.addressOf(`"size":"` + size + `"`))
		img, err := png.Decode(strings.NewReader(g.body))
		if err != nil || g.status != 200 || g.header.Get("Content-Type") != "image/png" {
			t.Fatalf("%s: %d %s, %v", size, g.status, g.header.Get("Content-Type"), err)
		}
		if b := img.Bounds(); (picture.Size{W: b.Dx(), H: b.Dy()}) != want {
			t.Errorf("%s: drawn as %v", size, b)
		}
	}
	one := draw(`"size":"64*64","seed":1`)
	first := r.fetch(r.addressIn(one)).body
	for about, body := range map[string]string{
		"": one, "seed": draw(`"size":"64*64","seed":2`), "prompt": strings.Replace(one, "quiet", "wild", 1),
		"watermark": draw(`"size":"64*64","seed":1,"watermark":true`),
	} {
		if same := r.fetch(r.addressIn(body)).body == first; same != (about == "") {
			t.Errorf("another %q is drawn alike: %v", about, same)
		}
	}
	if g := r.do(http.MethodHead, strings.TrimPrefix(r.addressOf(`"size":"16*16"`), r.server.URL), ""); g.status != 200 || g.body != "" ||
		g.header.Get("Content-Length") == "0" {
		t.Errorf("HEAD: %d, length %s", g.status, g.header.Get("Content-Length"))
	}
}

// An address is signed by its service, and expires. A task's addresses stay the same meanwhile.
func TestAddresses(t *testing.T) {
	r := newRig(t, Config{})
	other := newRig(t, Config{BaseURL: "https://pictures.example:8443/"})
	address, image := r.addressOf(`"size":"16*16"`), func(id string) string {
		return text(r.poll(id), "output.choices.3.message.content.0.image")
	}
	id := r.createTask(imagePath, edit(``))
	of := image(id)
	for _, change := range [][2]string{
		{"w=16", "w=17"}, {"h=16", "h=4096"}, {"seed=", "seed=1"}, {"Expires=1", "Expires=2"}, {"Signature=", "Signature=A"},
		{"-0.png", "-1.png"}, {"w=16", "w=16&mark=1"},
	} {
		changed := strings.Replace(address, change[0], change[1], 1)
		if changed == address {
			t.Fatalf("%s is not in %s", change[0], address)
		}
		r.fetch(changed).want(t, 403, "AccessDenied")
	}
	r.fetch("/pictures/a-0.png").want(t, 403, "AccessDenied")
	other.do("GET", strings.TrimPrefix(address, r.server.URL), "").want(t, 403, "AccessDenied")
	if a := other.addressOf(""); !strings.HasPrefix(a, "https://pictures.example:8443/pictures/") {
		t.Errorf("address is %s", a)
	}
	r.advance(24*time.Hour - time.Second)
	if again := image(id); of == "" || again != of || r.fetch(of).status != 200 || r.fetch(address).status != 200 {
		t.Errorf("a second before the end the address was %v and is %v", of, again)
	}
	r.advance(time.Second)
	r.fetch(address).want(t, 403, "AccessDenied")
	r.fetch(of).want(t, 403, "AccessDenied")
}

// kinds are the items of a message's content: T for text, I for an image.
func kinds(o object) (out string) {
	for _, item := range get[[]any](at(o, "output.choices.0.message.content")) {
		out += strings.ToUpper(text(item, "type")[:1])
	}
	return out
}

// itemsOf are the items of a stream, its frames of one text taken together, and the last frame.
func itemsOf(t *testing.T, events []event) (out string, last object) {
	t.Helper()
	for _, e := range events {
		last = e.object(t)
		if kind := kinds(last); kind == "I" || !strings.HasSuffix(out, kind) {
			out += kind
		}
	}
	return out, last
}

// The recorded answers show what the frames hold and how the usage grows. An interleaved answer is billed by image, as far as it
// was sent.
func TestInterleavedStream(t *testing.T) {
	r := newRig(t, Config{})
	for most, want := range map[string][]string{"1": {"TI"}, "2": {"TI", "TITI"}, "5": {"TITITITI", "TITITITITI"}} {
		r.Reset()
		events := r.post(multimodalPath, tale(`"stream":true,"max_images":`+most), sse...).events(t)
		items, last := itemsOf(t, events)
		count := strings.Count(items, "I")
		if !slices.Contains(want, items) || at(last, "usage.image_count") != float64(count) || at(last, "output.task_id") != nil ||
			r.Tally().Images != int64(count) {
			t.Errorf("up to %s images give %s, bill %d and end in %v", most, items, r.Tally().Images, last)
		}
		r.Reset()
		r.with(Fault{Error: &FaultError{}, After: len(events) - 1}).post(multimodalPath, tale(`"max_images":`+most), sse...)
		if got := r.Tally().Images; got != int64(count)-1 {
			t.Errorf("a stream that fails before its last frame costs %d images, want %d", got, count-1)
		}
	}
	r.Reset()
	for _, parameters := range []string{`"stream":true`, `"enable_interleave":true`} {
		r.post(multimodalPath, tale(parameters)).want(t, 400, "InvalidParameter")
	}
	for _, bad := range []string{`"n":2`, `"max_images":6`, `"size":"1K"`} {
		if e := r.post(multimodalPath, tale(bad), sse...).events(t); len(e) != 1 || e[0].name != "error" || e[0].status != "400" {
			t.Errorf("%s: %+v", bad, e)
		}
	}
	if e := r.post(multimodalPath, tale(``), asyncSSE...).events(t); e[0].status != "403" {
		t.Errorf("with the async header: %+v", e)
	}
}

const streamedTale = `"enable_interleave":true,"stream":true`

// An interleaved task is a stream, whose task can be polled; nothing is billed twice.
func TestInterleavedTaskAsAStream(t *testing.T) {
	r := newRig(t, paced)
	events := r.post(imagePath, tale(streamedTale+`,"max_images":1`), asyncSSE...).events(t)
	items, end := itemsOf(t, events)
	id := text(end, "output.task_id")
	for i, e := range events {
		out, last := at(e.object(t), "output"), i == len(events)-1
		want := map[bool]string{false: "RUNNING", true: "SUCCEEDED"}[last]
		if at(out, "task_id") != id || id == "" || at(out, "task_status") != want || at(out, "finished") != last {
			t.Errorf("frame %d is %v", i, out)
		}
	}
	o := r.poll(id)
	if items != "TI" || kinds(o) != "TI" || at(o, "output.task_status") != "SUCCEEDED" || r.Tally().Images != 1 {
		t.Errorf("told %s, polled %v, billed %d", items, o, r.Tally().Images)
	}
	if diff := cmp.Diff(end["usage"], o["usage"]); diff != "" {
		t.Errorf("usage of the stream and of the poll differ:\n%s", diff)
	}
}

// It runs as long as it streams, and continues if the client leaves or the connection breaks.
func TestInterleavedTaskWhileItStreams(t *testing.T) {
	r := newRig(t, paced)
	r.SetFault(Fault{On: EndpointImage, Stall: "body", After: 1})
	resp := r.begin(r.request("POST", imagePath, tale(streamedTale), asyncSSE...))
	e, err := readEvent(bufio.NewReader(resp.Body))
	if err != nil {
		t.Fatal(err)
	}
	id := text(e.object(t), "output.task_id")
	r.advance(time.Minute)
	if got := r.status(id); got != "RUNNING" || r.Tally().Images != 0 {
		t.Errorf("while it streams it is %v, billed %d images", got, r.Tally().Images)
	}
	resp.Body.Close() // the client leaves
	await(t, func() bool { return r.Tally().Images > 3 })
	if got := r.status(id); got != "SUCCEEDED" {
		t.Errorf("after the client left it is %v", got)
	}
	for _, fault := range []Fault{{Cut: "reset", After: 1}, {Error: &FaultError{}, After: 1}, {Drop: "close"}} {
		r.Reset()
		r.with(fault).post(imagePath, tale(streamedTale+`,"max_images":1`), asyncSSE...)
		await(t, func() bool { return r.Tally().Images == 1 })
	}
}

// The rules of the pictures in a request, which are longer than a table's line.
func TestInputImageRules(t *testing.T) {
	s := New(Config{})
	padded := func(size int) string {
		return dataURI("image/png", append(pngOf(240, 240, true), make([]byte, size-len(pngOf(240, 240, true)))...))
	}
	for _, tt := range []struct{ name, uri, want string }{
		{"smallest", dataURI("image/png", pngOf(240, 240, true)), ""},
		{"too narrow", dataURI("image/png", pngOf(239, 240, true)), "240 to 8000"},
		{"too low", dataURI("image/png", pngOf(240, 239, true)), "240 to 8000"},
		{"largest", dataURI("image/bmp", bmpOf(8000, 8000)), ""},
		{"too wide", dataURI("image/bmp", bmpOf(8001, 8000)), "240 to 8000"},
		{"too high", dataURI("image/bmp", bmpOf(8000, 8001)), "240 to 8000"},
		{"with alpha", dataURI("image/png", pngOf(240, 240, false)), "no alpha"},
		{"ten megabytes", padded(10 << 20), ""},
		{"one byte more", padded(10<<20 + 1), "larger than 10 MB"},
		{"a gif", "data:image/gif;base64,R0lG", "format other than"},
		{"not what it says", dataURI("image/jpeg", pngOf(240, 240, true)), "not an image of its media type"},
		{"broken", "data:image/png;base64,?", "Base64 data URI"},
	} {
		refuses(t, s, tt.name, imagePath, strings.Replace(edit(``), "https://images.example/in.png", tt.uri, 1), tt.want, async...)
	}
	for i, body := range []string{edit(`"negative_prompt":"` + strings.Repeat("雾", 501) + `"`),
		strings.Replace(edit(``), "A quiet lake", strings.Repeat("湖", 2001), 1)} {
		refuses(t, s, fmt.Sprint("a long prompt is cut ", i), imagePath, body, "", async...)
	}
}
