package openai

import (
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// TestTranslationsHoldNoPartOfTheBody: the body's memory is lent to another request once it is translated.
func TestTranslationsHoldNoPartOfTheBody(t *testing.T) {
	for story, translate := range map[string]func(text func(string) []byte) (*conversation.Request, error){
		"pictures": func(text func(string) []byte) (*conversation.Request, error) {
			return Generation(text(`{"model":"gen2.6-image","prompt":"A lake","seed":7,"size":"1024x1024","style":"vivid"}`), dialecttest.Models)
		},
		"an edit": func(text func(string) []byte) (*conversation.Request, error) {
			return Edit([]Part{{Name: "model", Data: text("gen2.6-image")}, {Name: "prompt", Data: text("A lake")}, {Name: "seed", Data: text("7")},
				{Name: "image", Data: text("\x89PNG\r\n\x1a\n")}}, dialecttest.Models)
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
