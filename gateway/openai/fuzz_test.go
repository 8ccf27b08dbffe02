package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// saneRequest fails if the chain could not accept the result of a translation.
func saneRequest(t *testing.T, r *conversation.Request, err error) {
	t.Helper()
	if err != nil {
		refusal, ok := errors.AsType[*conversation.Refusal](err)
		if !ok || r != nil || refusal.Status != 400 {
			t.Fatalf("%v beside %v", err, r)
		}
		dialecttest.MustBeJSON(t, AppendError(nil, refusal))
		return
	}
	dialecttest.MustBeJSON(t, r.Body)
	var native struct {
		Model      string
		Input      struct{ Messages []json.RawMessage }
		Parameters map[string]json.RawMessage
	}
	if err := json.Unmarshal(r.Body, &native); err != nil || native.Model == "" || native.Input.Messages == nil || native.Parameters == nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
	if _, streamed := native.Parameters["incremental_output"]; streamed != r.Stream {
		t.Fatalf("stream %t: %s", r.Stream, r.Body)
	}
	if !slices.Contains([]string{conversation.TextPath, conversation.MultimodalPath, conversation.ImagePath}, r.Path) ||
		r.Async != (r.Path == conversation.ImagePath) {
		t.Fatalf("%s, async %t", r.Path, r.Async)
	}
}

// FuzzRequest: any body becomes a request of the service, or is refused; both are JSON.
func FuzzRequest(f *testing.F) {
	dialecttest.Seeds(f, func(in []byte) { f.Add(in) }, "images")
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		generation, err := Generation(body, dialecttest.Models)
		saneRequest(t, generation, err)
		if !bytes.Equal(before, body) {
			t.Fatal("the body has changed")
		}
	})
}

// FuzzEdit: the same for the parts of a form.
func FuzzEdit(f *testing.F) {
	f.Add("n", []byte("2"), "image/png", []byte("\x89PNG"))
	f.Add("size", []byte("1x1"), "", []byte(""))
	f.Add("seed", []byte(" 1e5 "), `image/"`, []byte("BM"))
	f.Fuzz(func(t *testing.T, name string, value []byte, mediaType string, image []byte) {
		r, err := Edit([]Part{
			{Name: "model", Data: []byte("gen2.6-image")}, {Name: "prompt", Data: []byte("A lake")}, {Name: name, Data: value},
			{Name: "image", MediaType: mediaType, Data: image},
		}, dialecttest.Models)
		saneRequest(t, r, err)
	})
}

// FuzzAnswer: any answer becomes JSON, or is refused.
func FuzzAnswer(f *testing.F) {
	dialecttest.Seeds(f, func(in []byte) { f.Add(in) }, "pictures")
	f.Fuzz(func(t *testing.T, native []byte) {
		dialecttest.MustBeJSON(t, AppendError(nil, conversation.ReadRefusal(400, native)))
		p, err := ReadPictures(native, nil)
		if err != nil {
			return
		}
		dialecttest.MustBeJSON(t, p.Append(nil, 1))
		if len(p.URLs) > 0 {
			dialecttest.MustBeJSON(t, bytes.Join(p.Frames(1), []byte("AAAA")))
		}
		dialecttest.MustBeJSON(t, p.AppendTask(nil, 1))
		if r := p.Refusal(); r != nil && p.State == Completed || r == nil && p.State == Failed {
			t.Fatalf("%s beside %v", p.State, r)
		}
	})
}

// FuzzEmbeddings: any body becomes a request of the service for vectors, or is refused, and any answer to it becomes JSON, or is refused.
func FuzzEmbeddings(f *testing.F) {
	const answer = `{"output":{"embeddings":[{"text_index":0,"embedding":[0.1,-2e3]},{"embedding":[1e400,null]}]},"usage":{"total_tokens":3}}`
	f.Add([]byte(`{"model":"vectors","input":"A lake","encoding_format":"base64","user":"u-1"}`), []byte(answer))
	f.Add([]byte(`{"model":"vectors","input":["A lake","\ud83d"],"dimensions":64,"more":[1]}`), []byte(`{"output":{"embeddings":[[]]}}`))
	f.Add([]byte(`{"model":"vectors","input":"A lake"}`), []byte(`"`))
	f.Add([]byte(`{"model":"vectors","input":[1,2],"dimension":1}`), []byte(`{"output":{"embeddings":{}},"usage":[]}`))
	f.Fuzz(func(t *testing.T, body, native []byte) {
		before := bytes.Clone(body)
		r, err := Embeddings(body, dialecttest.Models)
		if !bytes.Equal(before, body) {
			t.Fatal("the body has changed")
		}
		if err != nil {
			refusal, ok := errors.AsType[*conversation.Refusal](err)
			if !ok || r != nil || refusal.Status != 400 {
				t.Fatalf("%v beside %v", err, r)
			}
			return
		}
		var asked struct {
			Model string
			Input struct{ Texts []string }
		}
		if err := json.Unmarshal(r.Body, &asked); err != nil || asked.Model == "" || asked.Input.Texts == nil {
			t.Fatalf("%s: %v", r.Body, err)
		}
		if text, err := r.Whole(nil, native); err == nil {
			dialecttest.MustBeJSON(t, text)
		}
	})
}
