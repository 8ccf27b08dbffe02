package simulator

import (
	"errors"
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

// A request refused after a stream was asked for gets status 200 and one
// frame.
func TestErrorFrame(t *testing.T) {
	r := newRig(t, Config{})
	for _, path := range []string{textPath, multimodalPath} {
		g := r.post(path, `{"model":"llm-plus"}`, sse...)
		want := fmt.Sprintf("id:1\nevent:error\n:HTTP_STATUS/400\n"+
			"data:{\"code\":\"InvalidParameter\",\"message\":\"input must hold messages or prompt\",\"request_id\":%q}\n\n", g.header.Get("X-Request-Id"))
		if g.status != 200 || g.body != want || g.header.Get("Content-Type") != streamType {
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

func TestAsRefusal(t *testing.T) {
	if got := asRefusal(fmt.Errorf("more: %w", errRate)); got != errRate {
		t.Errorf("a wrapped refusal became %v", got)
	}
	got := asRefusal(errors.New("secret detail"))
	if got.status != 500 || got.code != "InternalError" || strings.Contains(got.Error(), "secret") {
		t.Errorf("another error became %v", got)
	}
}

func TestFaultErrorDefaults(t *testing.T) {
	for _, tt := range []struct {
		in     FaultError
		status int
		code   string
	}{
		{FaultError{}, 500, "InternalError"},
		{FaultError{Status: 400}, 400, "InvalidParameter"},
		{FaultError{Status: 401}, 401, "InvalidApiKey"},
		{FaultError{Status: 403}, 403, "AccessDenied"},
		{FaultError{Status: 404}, 404, "ModelNotFound"},
		{FaultError{Status: 429}, 429, "Throttling.RateQuota"},
		{FaultError{Status: 503}, 503, "ModelUnavailable"},
		{FaultError{Status: 504}, 504, "InternalError"},
		{FaultError{Status: 429, Code: "Throttling.AllocationQuota"}, 429, "Throttling.AllocationQuota"},
		{FaultError{Code: "SystemError"}, 500, "SystemError"},
	} {
		if r := tt.in.refusal(); r.status != tt.status || r.code != tt.code || r.message == "" {
			t.Errorf("%+v answers %v, want %d %s", tt.in, r, tt.status, tt.code)
		}
	}
}
