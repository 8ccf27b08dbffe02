package simulator

import (
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		path string
		want route
	}{
		{textPath, route{EndpointText, "POST", ""}},
		{multimodalPath, route{EndpointMultimodal, "POST", ""}},
		{imagePath, route{EndpointImage, "POST", ""}},
		{olderPath, route{EndpointSynthesis, "POST", ""}},
		{olderEditPath, route{EndpointSynthesis, "POST", ""}},
		{"/api/v1/tasks", route{EndpointList, "GET", ""}},
		{"/api/v1/tasks/", route{EndpointList, "GET", ""}},
		{"/api/v1/tasks/abc", route{EndpointTask, "GET", "abc"}},
		{"/api/v1/tasks/abc/", route{EndpointTask, "GET", "abc"}},
		{"/api/v1/tasks/abc/cancel", route{EndpointCancel, "POST", "abc"}},
		{"/api/v1/tasks/abc/cancel/", route{EndpointCancel, "POST", "abc"}},
		{"/api/v1/uploads", route{EndpointUploads, "GET", ""}},
		{"/pictures/a-0.png", route{EndpointPicture, "GET", ""}},
		{textPath + "/", route{EndpointOther, "", ""}},
		{"/api/v1/tasks//", route{EndpointOther, "", ""}},
		{"/api/v1/tasks//cancel", route{EndpointOther, "", ""}},
		{"/api/v1/tasks/abc/delete", route{EndpointOther, "", ""}},
		{"/api/v1/tasks/abc/cancel/now", route{EndpointOther, "", ""}},
		{"/api/v2/tasks/abc", route{EndpointOther, "", ""}},
		{"/tasks/abc", route{EndpointOther, "", ""}},
		{"/", route{EndpointOther, "", ""}},
		{"", route{EndpointOther, "", ""}},
	} {
		if got := find(tt.path); got != tt.want {
			t.Errorf("find(%q) = %+v, want %+v", tt.path, got, tt.want)
		}
	}
}

func TestPathAndMethod(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct {
		method, path string
		status       int
		code, allow  string
	}{
		{"GET", textPath, 405, "InvalidParameter", "POST"},
		{"PUT", imagePath, 405, "InvalidParameter", "POST"},
		{"POST", tasksPath, 405, "InvalidParameter", "GET"},
		{"DELETE", tasksPath + "/abc", 405, "InvalidParameter", "GET"},
		{"GET", tasksPath + "/abc/cancel", 405, "InvalidParameter", "POST"},
		{"POST", "/api/v1/services/aigc/video-generation/generation", 404, "NotFound", ""},
		{"GET", "/", 404, "NotFound", ""},
	} {
		g := r.do(tt.method, tt.path, "")
		g.want(t, tt.status, tt.code)
		if got := g.header.Get("Allow"); got != tt.allow {
			t.Errorf("%s %s allows %q, want %q", tt.method, tt.path, got, tt.allow)
		}
	}
}

// A path is judged before the key and without a redirect.
func TestTrailingSlashIsNoRedirect(t *testing.T) {
	r := newRig(t, Config{})
	if g := r.get(tasksPath + "/abc/"); g.status != 200 || at(g.object(t), "output", "task_id") != "abc" {
		t.Errorf("got %d %s", g.status, g.body)
	}
	r.do("POST", tasksPath+"/abc/cancel/", "").want(t, 400, "UnsupportedOperation")
}

func TestOrderOfTheDoor(t *testing.T) {
	r := newRig(t, Config{MaxBody: 10})
	noKey := []string{"Authorization", "Bearer wrong"}
	r.post("/nowhere", "{}", noKey...).want(t, 404, "NotFound")
	r.get(textPath, noKey...).want(t, 405, "InvalidParameter")
	r.post(textPath, "more than ten bytes", noKey...).want(t, 401, "InvalidApiKey")
	r.post(textPath, "more than ten bytes").want(t, 413, "BadRequest.TooLarge")
	r.post(textPath, "ten bytes!").want(t, 400, "InvalidParameter")
	r.post(textPath, "ten bytes!", "Content-Type", "text/plain").want(t, 415, "InvalidParameter")
}

// The simulator must not share the gateway's reading of the specification.
func TestImportsNothingOfOurs(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			if strings.HasPrefix(name, "sluice/") && !strings.HasPrefix(name+"/", "sluice/gateway/simulator/") {
				t.Errorf("%s imports %s", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUploads(t *testing.T) {
	r := newRig(t, Config{})
	o := r.get("/api/v1/uploads?action=getPolicy&model=llm-vision").object(t)
	for _, name := range []string{"policy", "signature", "upload_dir", "upload_host"} {
		if s, _ := at(o, "data", name).(string); s == "" {
			t.Errorf("%s is missing from %v", name, o)
		}
	}
	r.get("/api/v1/uploads?model=llm-vision").want(t, 400, "InvalidParameter")
	r.get("/api/v1/uploads?action=put&model=llm-vision").want(t, 400, "InvalidParameter")
	r.get("/api/v1/uploads?action=getPolicy").want(t, 400, "InvalidParameter")
	if got := r.Requests()[0]; got.Endpoint != EndpointUploads || got.Query != "action=getPolicy&model=llm-vision" {
		t.Errorf("recorded as %s with query %q", got.Endpoint, got.Query)
	}
	if r.do(http.MethodPost, "/api/v1/uploads", "").status != 405 {
		t.Error("uploads accepts a POST")
	}
}
