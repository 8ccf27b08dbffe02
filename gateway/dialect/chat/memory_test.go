package chat

import (
	"runtime"
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
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
		"one long message": {`{"model":"llm-max","messages":[{"role":"user","content":"` + strings.Repeat("x", length) + `"}]}`,
			length * 5 / 4}, "messages that are none": {begin + strings.Repeat(",0", length/2) + `]}`, length * 5 / 4},
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
			_, err := Read(body, new(conversation.Models))
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > uint64(c.most) {
				t.Errorf("%d bytes allocated for a body of %d (%v)", made, len(body), err)
			}
		})
	}
}

// TestTranslationsHoldNoPartOfTheBody: the body's memory is lent to another request once it is translated.
func TestTranslationsHoldNoPartOfTheBody(t *testing.T) {
	chat := `{"model":"llm-max","top_k":[7],"messages":[{"role":"user","name":"bob","content":[{"type":"text","text":"x"},` +
		`{"type":"image_url","image_url":{"url":"https://a.example/b.png"},"min_pixels":9}]}],"stream":true}`
	for story, translate := range map[string]func(text func(string) []byte) (*conversation.Request, error){
		"a chat": func(text func(string) []byte) (*conversation.Request, error) {
			return Read(text(chat), dialecttest.Models)
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
