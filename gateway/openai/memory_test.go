package openai

import (
	"runtime"
	"strings"
	"testing"
)

// TestBodiesTakeNoMultipleOfTheirMemory: the gateway takes memory for a body and for its translation from its budget, so no body
// may make more.
func TestBodiesTakeNoMultipleOfTheirMemory(t *testing.T) {
	const length = 3 << 20
	begin := `{"model":"llm-max","messages":[{"role":"user","content":"x"}`
	for story, c := range map[string]struct {
		body string
		most int // bytes that may be allocated
	}{
		"one long message":              {`{"model":"llm-max","messages":[{"role":"user","content":"` + strings.Repeat("x", length) + `"}]}`, length * 5 / 4},
		"messages that are none":        {begin + strings.Repeat(",0", length/2) + `]}`, length * 5 / 4},
		"messages with a role alone":    {begin + strings.Repeat(`,{"role":"user"}`, length/16) + `]}`, length * 5 / 4},
		"no end":                        {begin + strings.Repeat(`,{"role":"user"}`, length/16), length / 8},
		"another document after it":     {begin + strings.Repeat(",0", length/2) + `]}{}`, length / 8},
		"a string that is cut":          {`{"model":"` + strings.Repeat("x", length), length / 8},
		"a member that is not a string": {`{"model":"llm-max","messages":[` + strings.Repeat("[],", length/3) + `[]],x}`, length / 8},
	} {
		t.Run(story, func(t *testing.T) {
			body := []byte(c.body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Chat(body, new(Models))
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > uint64(c.most) {
				t.Errorf("%d bytes allocated for a body of %d (%v)", made, len(body), err)
			}
		})
	}
}

// TestTranslationsHoldNoPartOfTheBody: the body's memory is lent to another request once it is translated.
func TestTranslationsHoldNoPartOfTheBody(t *testing.T) {
	chat := `{"model":"llm-max","top_k":[7],"messages":[{"role":"user","name":"bob","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"https://a.example/b.png"},"min_pixels":9}]}],"stream":true}`
	for story, translate := range map[string]func(text func(string) []byte) (*Request, error){
		"a chat": func(text func(string) []byte) (*Request, error) { return Chat(text(chat), testModels) },
		"pictures": func(text func(string) []byte) (*Request, error) {
			return Generation(text(`{"model":"gen2.6-image","prompt":"A lake","seed":7,"size":"1024x1024","style":"vivid"}`), testModels)
		},
		"an edit": func(text func(string) []byte) (*Request, error) {
			return Edit([]Part{{Name: "model", Data: text("gen2.6-image")}, {Name: "prompt", Data: text("A lake")}, {Name: "seed", Data: text("7")}, {Name: "image", Data: text("\x89PNG\r\n\x1a\n")}}, testModels)
		},
	} {
		var texts [][]byte
		got, err := translate(func(s string) []byte { texts = append(texts, []byte(s)); return texts[len(texts)-1] })
		if err != nil {
			t.Fatal(story, err)
		}
		want, model := string(got.Body), strings.Clone(got.Model)
		for _, text := range texts {
			for i := range text {
				text[i] = 0xdb
			}
		}
		if string(got.Body) != want || got.Model != model {
			t.Errorf("%s became %s for %s", story, got.Body, got.Model)
		}
	}
}
