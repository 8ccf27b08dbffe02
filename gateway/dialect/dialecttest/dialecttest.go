// Package dialecttest has what the tests of all dialects need: files of passages, models, and streams of the service.
package dialecttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"sluice/gateway/conversation"
	"sluice/policy"
)

var update = flag.Bool("update", false, "write what the translations give into the passages")

// Passages runs a translation over the files of a directory of testdata. The first section of a file is the input, the second, named
// out, the expected output.
func Passages(t *testing.T, directory, out string, translate func(name string, in []byte) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", directory, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no passages in %s: %v", directory, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := translate(archive.Files[0].Name, archive.Files[0].Data)
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: out, Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(archive.Files) != 2 {
				t.Fatalf("%d sections, want 2", len(archive.Files))
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Seeds calls add with the inputs of the passages in these directories.
func Seeds(f *testing.F, add func(in []byte), directories ...string) {
	f.Helper()
	for _, directory := range directories {
		files, _ := filepath.Glob(filepath.Join("testdata", directory, "*.txt"))
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				f.Fatal(err)
			}
			add(archive.Files[0].Data)
		}
	}
}

// Models are the models of the tests.
var Models = &conversation.Models{
	Resolve: func(name string) string {
		if name == "gpt-4o" {
			return "llm-max"
		}
		return name
	},
	Vision: func(model string) bool { return strings.HasPrefix(model, "llm-vl") },
	Sync:   func(model string) bool { return strings.HasPrefix(model, "llm-image") },
	Thinks: func(model string) bool { return strings.HasPrefix(model, "llm-think") },
}

// Head is what the answers of the tests begin with.
var Head = conversation.Head{ID: "7a2f3c51", Created: 1772600767, Model: "gpt-4o"}

// Shown is a request or a refusal as a passage shows it. more are words about the request.
func Shown(r *conversation.Request, err error, more ...string) string {
	if err != nil {
		return Refused(err, func(dst []byte, r *conversation.Refusal) []byte {
			return fmt.Appendf(dst, "%s %q: %s", r.Code, r.Param, r.Message)
		})
	}
	for _, flag := range []struct {
		word string
		set  bool
	}{{"base64", r.Base64}, {"async", r.Async}, {"stream", r.Stream}} {
		if flag.set {
			more = append([]string{flag.word}, more...)
		}
	}
	text := strings.Join(append([]string{r.Path, r.Model}, more...), " ") + "\n"
	for _, warning := range r.Warnings {
		text += "Sluice-Warning: " + warning + "\n"
	}
	return text + string(r.Body) + "\n"
}

// Refused is a refusal as a passage shows it, in a client's form.
func Refused(err error, form func(dst []byte, r *conversation.Refusal) []byte) string {
	r, ok := errors.AsType[*conversation.Refusal](err)
	if !ok {
		return fmt.Sprintf("an error of type %T: %v\n", err, err)
	}
	return fmt.Sprintf("%d %s\n", r.Status, form(nil, r))
}

// MustBeJSON fails where text is not one JSON document in UTF-8.
func MustBeJSON(t *testing.T, text []byte) {
	t.Helper()
	if !json.Valid(text) || !utf8.Valid(text) {
		t.Fatalf("not JSON: %q", text)
	}
}

// Frames is a stream of the service with these documents.
func Frames(documents ...string) []byte {
	var b bytes.Buffer
	for i, document := range documents {
		fmt.Fprintf(&b, "id:%d\nevent:result\n:HTTP_STATUS/200\ndata:%s\n\n", i+1, document)
	}
	return b.Bytes()
}

// Frame is the document of a frame with one choice.
func Frame(content, finish string) string {
	text, _ := json.Marshal(content)
	return fmt.Sprintf(`{"output":{"choices":[{"message":{"content":%s,"role":"assistant"},"finish_reason":%q}]}}`, text, finish)
}

// NewStream starts a stream for a dialect that has begun.
func NewStream(in conversation.Dialect) *conversation.Stream {
	s := new(conversation.Stream)
	s.Begin(in)
	return s
}

// Translated is a whole stream, passed to a dialect that has begun, in pieces of this many bytes.
func Translated(in conversation.Dialect, native []byte, piece int) ([]byte, error) {
	s := NewStream(in)
	var out []byte
	for len(native) > 0 {
		n := min(piece, len(native))
		var err error
		if out, err = s.Append(out, native[:n]); err != nil {
			return out, err
		}
		native = native[n:]
	}
	return s.End(out)
}

// families has the families of Models.
var families = policy.Families{
	SyncImage: []policy.Pattern{"llm-image*"}, EditImage: []policy.Pattern{"gen2.6-image"}, Vision: []policy.Pattern{"llm-vl*"},
	Thinking: []policy.Pattern{"llm-think*"},
}

// Judged is the verdict of the gateway's rules on a translated request.
func Judged(t *testing.T, r *conversation.Request) policy.Verdict {
	t.Helper()
	call := policy.Call{Endpoint: map[string]policy.Endpoint{
		conversation.TextPath: policy.EndpointText, conversation.MultimodalPath: policy.EndpointMultimodal,
		conversation.ImagePath: policy.EndpointImage,
	}[r.Path]}
	if r.Async {
		call.Async = []string{"enable"}
	}
	if r.Stream {
		call.SSE = []string{"enable"}
	}
	request, err := policy.Read(&families, call, r.Body)
	if err != nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
	defer request.Release()
	return policy.Judge(nil, nil, &request)
}

// KeepRules checks that the translations of the passages in a directory are strict documents that break no rule of the gateway.
func KeepRules(t *testing.T, directory string, translate func([]byte, *conversation.Models) (*conversation.Request, error)) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("testdata", directory, "*.txt"))
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := translate(archive.Files[0].Data, Models)
			if err != nil {
				t.Fatal(err)
			}
			verdict := Judged(t, r)
			for _, finding := range append(verdict.Violations, verdict.Warnings...) {
				t.Errorf("%s", finding)
			}
		})
	}
}
