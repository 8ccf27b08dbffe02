package meter

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// oracle reads a document the slow way: it decodes the whole and looks up the members that the interface describes. It
// shares nothing with the Meter but the Reading.
func oracle(t *rapid.T, document []byte) Reading {
	var tree map[string]any
	if err := json.Unmarshal(document, &tree); err != nil {
		t.Fatalf("%v in %s", err, document)
	}
	r := Reading{Closed: true, Complete: true}
	r.ResponseID, _ = tree["request_id"].(string)
	if output, ok := tree["output"].(map[string]any); ok {
		oracleOutput(output, &r)
	}
	if u, ok := tree["usage"].(map[string]any); ok {
		oracleUsage(u, &r)
	}
	return r
}

func oracleOutput(output map[string]any, r *Reading) {
	r.TaskID, _ = output["task_id"].(string)
	r.TaskStatus, _ = output["task_status"].(string)
	text, _ := output["text"].(string)
	r.TextBytes = len(text)
	results, _ := output["results"].([]any)
	for _, result := range results {
		if address, _ := result.(map[string]any)["url"].(string); address != "" {
			r.ImageCount++
		}
	}
	list, _ := output["choices"].([]any)
	for _, c := range list {
		one := c.(map[string]any)
		if reason, _ := one["finish_reason"].(string); reason != "" && reason != "null" {
			r.FinishReasons = append(r.FinishReasons, reason)
		}
		if m, ok := one["message"].(map[string]any); ok {
			oracleMessage(m, r)
		}
	}
	r.Content = r.Content || r.TextBytes > 0 || r.ImageCount > 0
}

func oracleMessage(m map[string]any, r *Reading) {
	said, _ := m["content"].(string)
	thought, _ := m["reasoning_content"].(string)
	r.TextBytes += len(said) + len(thought)
	items, _ := m["content"].([]any)
	for _, i := range items {
		one := i.(map[string]any)
		said, _ := one["text"].(string)
		r.TextBytes += len(said)
		if address, _ := one["image"].(string); address != "" {
			r.ImageCount++
		}
	}
	calls, _ := m["tool_calls"].([]any)
	for _, call := range calls {
		r.Content = true
		f, _ := call.(map[string]any)["function"].(map[string]any)
		arguments, _ := f["arguments"].(string)
		r.TextBytes += len(arguments)
	}
}

func oracleUsage(u map[string]any, r *Reading) {
	raise := func(f Field, value any) {
		if n, ok := value.(float64); ok && n >= 0 && n <= maxNumber && n == math.Trunc(n) {
			r.Usage.Raise(f, int64(n))
		}
	}
	for f := range fieldCount {
		raise(f, u[f.String()])
	}
	r.Usage.size, _ = u["size"].(string)
	if r.Usage.pixels = map[string]int64{"1*1": 1, "1024*768": 786_432}[r.Usage.size]; r.Usage.size == "0*0" {
		r.Usage.size = ""
	}
	if details, ok := u["prompt_tokens_details"].(map[string]any); ok {
		raise(CachedTokens, details["cached_tokens"])
		raise(ImageTokens, details["image_tokens"])
		r.Usage.explicit = details["cache_type"] == "ephemeral"
	}
}

// anyObject makes an object with these members in any order, some missing, and meaningless others between them.
func anyObject(t *rapid.T, depth int, members map[string]func() string) string {
	names := make([]string, 0, len(members)+2)
	for _, name := range rapid.Permutation(sortedNames(members)).Draw(t, "order") {
		if rapid.IntRange(0, 9).Draw(t, "there") > 0 {
			names = append(names, fmt.Sprintf("%q:%s", name, members[name]()))
		}
		if rapid.IntRange(0, 4).Draw(t, "noise") == 0 {
			names = append(names, fmt.Sprintf("%q:%s", fmt.Sprintf("x%d", len(names)), anyNoise(t, depth)))
		}
	}
	space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
	return "{" + space + strings.Join(names, space+","+space) + space + "}"
}

func sortedNames(members map[string]func() string) []string {
	return slices.Sorted(maps.Keys(members))
}

// anyNoise is a value at a place without meaning, with many members that would have a meaning elsewhere.
func anyNoise(t *rapid.T, depth int) string {
	if depth > 3 {
		return "null"
	}
	inner := func() string { return anyNoise(t, depth+1) }
	return rapid.SampledFrom([]func() string{
		func() string { return `"\",\"usage\":{\"input_tokens\":9}}"` },
		func() string { return `-1.5e3` },
		func() string { return `[]` },
		func() string { return `{}` },
		func() string { return `[` + inner() + `,` + inner() + `]` },
		func() string { return `{"request_id":"no","output":` + inner() + `,"text":` + inner() + `}` },
		func() string { return `{"usage":{"input_tokens":99},"finish_reason":"no","choices":` + inner() + `}` },
	}).Draw(t, "noise")()
}

func anyList(t *rapid.T, one func() string) string {
	list := make([]string, rapid.IntRange(0, 3).Draw(t, "length"))
	for i := range list {
		list[i] = one()
	}
	return "[" + strings.Join(list, ",") + "]"
}

func anyDocument(t *rapid.T) string {
	text := func() string {
		s := rapid.String().Draw(t, "text")
		if rapid.Bool().Draw(t, "ascii") {
			return asciiJSON(s)
		}
		b, _ := json.Marshal(s)
		return string(b)
	}
	word := func(words ...string) func() string {
		return func() string { return rapid.SampledFrom(words).Draw(t, "word") }
	}
	number := word("0", "7", "12.0", "4e2", "9007199254740991", "9007199254740992", "-4", "1.25", "null", `"8"`, "true")
	address := word(`"https://r/1"`, `"https://r/2"`, `""`, "null")
	item := func() string {
		return anyObject(t, 0, map[string]func() string{"text": text, "image": address})
	}
	call := func() string {
		return anyObject(t, 0, map[string]func() string{"id": text, "function": func() string {
			return anyObject(t, 0, map[string]func() string{"name": text, "arguments": text})
		}})
	}
	content := func() string {
		if rapid.Bool().Draw(t, "items") {
			return anyList(t, item)
		}
		return text()
	}
	choice := func() string {
		return anyObject(t, 0, map[string]func() string{
			"finish_reason": word(`"stop"`, `"length"`, `"null"`, "null", `"made up"`),
			"message": func() string {
				return anyObject(t, 0, map[string]func() string{
					"content": content, "reasoning_content": text, "role": word(`"assistant"`),
					"tool_calls": func() string { return anyList(t, call) },
				})
			},
		})
	}
	return anyObject(t, 0, map[string]func() string{
		"request_id": word(`"a"`, `"b-c"`, "null", "7"),
		"output": func() string {
			return anyObject(t, 0, map[string]func() string{
				"task_id": word(`"t"`), "task_status": word(`"RUNNING"`, `"SUCCEEDED"`, "null"), "text": text,
				"choices": func() string { return anyList(t, choice) },
				"results": func() string {
					return anyList(t, func() string { return anyObject(t, 0, map[string]func() string{"url": address}) })
				},
			})
		},
		"usage": func() string {
			return anyObject(t, 4, map[string]func() string{
				"input_tokens": number, "output_tokens": number, "total_tokens": number, "image_count": number,
				"cached_tokens": number, "image_tokens": number, "size": word(`"1*1"`, `"1024*768"`, `"0*0"`, `"2K"`, `""`, "null", "7"),
				"width": number, "height": number,
				"prompt_tokens_details": func() string {
					return anyObject(t, 4, map[string]func() string{
						"cached_tokens": number, "image_tokens": number, "cache_type": word(`"ephemeral"`, `"other"`, "null"),
					})
				},
			})
		},
	})
}

// Whatever the order of its members and its other content, the Meter reads a document as a decoder of the whole does.
func TestDocumentsAsAnOracleReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := []byte(anyDocument(t))
		want, got := oracle(t, document), read("application/json", document)
		got.Odd, got.Usage.others = false, nil // the oracle does not judge these
		if fmt.Sprintf("%+v", want) != fmt.Sprintf("%+v", got) {
			t.Fatalf("%s\nwant %+v\ngot  %+v", document, want, got)
		}
	})
}
