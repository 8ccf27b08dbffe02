package openai

import (
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
)

var update = flag.Bool("update", false, "write what the translations give into the passages")

// passages runs a translation over the files of a directory. The first section of a file is the input, the second the expected
// output.
func passages(t *testing.T, directory, out string, translate func(name string, in []byte) string) {
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
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
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

// testModels are the models of the tests.
var testModels = &Models{
	Resolve: func(name string) string {
		if name == "gpt-4o" {
			return "llm-max"
		}
		return name
	},
	Vision: func(model string) bool { return strings.HasPrefix(model, "llm-vl") },
	Sync:   func(model string) bool { return strings.HasPrefix(model, "llm-image") },
}

var testHead = Head{ID: "7a2f3c51", Created: 1772600767, Model: "gpt-4o"}

// shown is a request or a refusal as a passage shows it.
func shown(r *Request, err error) string {
	if err != nil {
		return refused(err)
	}
	flags := ""
	for _, flag := range []struct {
		word string
		set  bool
	}{{"stream", r.Stream}, {"async", r.Async}, {"usage", r.Usage}, {"base64", r.Base64}} {
		if flag.set {
			flags += " " + flag.word
		}
	}
	return fmt.Sprintf("%s %s%s\n%s\n", r.Path, r.Model, flags, r.Body)
}

func refused(err error) string {
	r, ok := errors.AsType[*Refusal](err)
	if !ok {
		return fmt.Sprintf("an error of type %T: %v\n", err, err)
	}
	return fmt.Sprintf("%d %s\n", r.Status, AppendError(nil, r))
}

// mustBeJSON fails where text is not one JSON document in UTF-8.
func mustBeJSON(t *testing.T, text []byte) {
	t.Helper()
	if !json.Valid(text) || !utf8.Valid(text) {
		t.Fatalf("not JSON: %q", text)
	}
}

func TestChats(t *testing.T) {
	passages(t, "chats", "native", func(_ string, in []byte) string { return shown(Chat(in, testModels)) })
}

func TestGenerations(t *testing.T) {
	passages(t, "images", "native", func(_ string, in []byte) string { return shown(Generation(in, testModels)) })
}

func TestCompletions(t *testing.T) {
	passages(t, "answers", "openai", func(_ string, in []byte) string {
		out, err := AppendCompletion(nil, testHead, in)
		if err != nil {
			return refused(err)
		}
		mustBeJSON(t, out)
		return string(out) + "\n"
	})
}

func TestStreams(t *testing.T) {
	passages(t, "streams", "openai", func(name string, in []byte) string {
		s := NewStream(testHead, name == "native-with-usage")
		out, err := s.Append(nil, in)
		if err == nil {
			out, err = s.End(out)
		}
		if err != nil {
			return string(out) + refused(err)
		}
		return string(out)
	})
}

func TestPictures(t *testing.T) {
	passages(t, "pictures", "openai", func(_ string, in []byte) string {
		p, err := ReadPictures(in)
		if err != nil {
			return refused(err)
		}
		out := fmt.Sprintf("task %s, %s\n%s\n%s\n", p.Task, p.State, p.Append(nil, 1772600767), p.AppendTask(nil, 1772600767))
		if r := p.Refusal(); r != nil {
			out += refused(r)
		}
		return out
	})
}
