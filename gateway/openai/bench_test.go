package openai

import (
	"strings"
	"testing"

	"sluice/gateway/dialect/dialecttest"
)

func BenchmarkGeneration(b *testing.B) {
	body := []byte(`{"model":"gen2.6-image","prompt":"` + strings.Repeat("A quiet lake. ", 60) +
		`","n":2,"size":"1024x1024","quality":"auto"}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Generation(body, dialecttest.Models); err != nil {
			b.Fatal(err)
		}
	}
}
