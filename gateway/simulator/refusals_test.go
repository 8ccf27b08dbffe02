package simulator

import (
	"fmt"
	"strings"
	"testing"
)

func TestErrorBody(t *testing.T) {
	r := newRig(t, Config{})
	g := r.post(textPath, `{"model":"llm-plus"}`)
	want := fmt.Sprintf(`{"code":"InvalidParameter","message":"input must hold messages or prompt","request_id":%q}`, g.header.Get("X-Request-Id"))
	if g.status != 400 || g.body != want {
		t.Errorf("got %d %s, want %s", g.status, g.body, want)
	}
	if ct := g.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type is %q", ct)
	}
}

// A refused request that wants a stream gets status 200 and one frame.
func TestErrorFrame(t *testing.T) {
	r := newRig(t, Config{})
	for _, path := range []string{textPath, multimodalPath} {
		g := r.post(path, `{"model":"llm-plus"}`, sse...)
		want := fmt.Sprintf("id:1\nevent:error\n:HTTP_STATUS/400\n"+
			"data:{\"code\":\"InvalidParameter\",\"message\":\"input must hold messages or prompt\",\"request_id\":%q}\n\n", g.header.Get("X-Request-Id"))
		if g.status != 200 || g.body != want || g.header.Get("Content-Type") != "text/event-stream;charset=UTF-8" {
			t.Errorf("got %d %s\n%s\nwant\n%s", g.status, g.header.Get("Content-Type"), g.body, want)
		}
	}
	g := r.post(imagePath, edit(""), sse...) // without the async header
	if e := g.events(t); len(e) != 1 || e[0].name != "error" || e[0].status != "403" || !strings.HasPrefix(e[0].data, `{"code":"AccessDenied"`) {
		t.Errorf("frames are %+v", e)
	}
}

func TestRefusalsOfOtherPathsAreNeverFrames(t *testing.T) {
	r := newRig(t, Config{})
	r.post(tasksPath+"/abc/cancel", "", sse...).want(t, 400, "UnsupportedOperation")
	r.post(olderPath, older(""), sse...).want(t, 403, "AccessDenied")
	r.get("/nowhere", sse...).want(t, 404, "NotFound")
}
