package policy_test

import (
	"slices"
	"strings"
)

func editItems(items ...string) []string {
	return each(func(v string) string { return itemsBody("gen2.6-image", v, "") }, items...)
}

func editMessages(messages ...string) []string {
	return each(func(v string) string { return messageBody("gen2.6-image", v) }, messages...)
}

func images(n int) string {
	return strings.Repeat(`,{"image":"http://a/b"}`, n)
}

const anImage = `{"role":"user","content":[` + oneImage + `]}`

var imageCases = []ruleCase{
	{
		id: "image.model", call: "task",
		breach: []string{itemsBody("", oneImage, ""), strings.Replace(editBody(""), `"gen2.6-image"`, "[]", 1)},
	},
	{
		id: "image.input", call: "task", besides: "image.messages.single",
		breach: []string{`{"model":"gen2.6-image","input":5}`},
	},
	{
		id: "image.parameters", call: "task",
		breach: []string{`{"model":"gen2.6-image","parameters":5,"input":{"messages":[` + anImage + `]}}`},
	},
	{
		id: "image.messages", call: "task",
		pass: []string{`{"model":"gen2.5-t2i","input":{"prompt":"a cat"}}`, messageBody("gen2.5-t2i", `{"role":"user","content":"a"},{"role":"user","content":"b"}`)},
		breach: []string{
			`{"model":"gen2.5-t2i","input":{}}`, `{"model":"gen2.5-t2i","input":{"messages":[]}}`,
			`{"model":"gen2.5-t2i"}`,
		},
	},
	{
		id: "image.prompt", call: "older",
		pass: []string{
			`{"model":"gen2.6-image","input":{"prompt":"a cat","images":["x"]},"parameters":{"n":7,"size":"x","seed":-1,"stream":5}}`,
		},
		breach: []string{`{"model":"gen2.6-image","input":{"prompt":5}}`},
	},
	{
		id: "image.messages.single", call: "task",
		pass: editMessages(anImage), breach: editMessages(anImage + `,` + anImage),
	},
	{
		id: "image.messages.single", call: "task",
		breach: []string{
			`{"model":"gen2.6-image","input":{"prompt":"a cat"}}`,
			`{"model":"gen2.6-image","input":{"messages":[]}}`,
		},
	},
	{
		id: "image.sync.messages", call: "sync",
		pass: []string{syncBody("")},
		breach: []string{
			messageBody("llm-image", `{"role":"user","content":[{"text":"a"}]},{"role":"user","content":[{"text":"a"}]}`),
			`{"model":"llm-image","input":{"prompt":"a"}}`,
		},
	},
	{
		id: "image.message", call: "task",
		breach: editMessages(`5`, `"a cat"`),
	},
	{
		id: "image.role", call: "task",
		breach: []string{
			messageBody("gen2.5-t2i", `{"role":"User","content":"a"}`),
			messageBody("gen2.5-t2i", `{"content":"a"}`),
		},
	},
	{
		id: "image.role.user", call: "task",
		breach: editMessages(
			`{"role":"system","content":[`+oneImage+`]}`, `{"role":"USER","content":[`+oneImage+`]}`,
			`{"content":[`+oneImage+`]}`,
		),
	},
	{
		id: "image.sync.role", call: "sync",
		breach: []string{messageBody("llm-image", `{"role":"assistant","content":[{"text":"a"}]}`)},
	},
	{
		id: "image.content", call: "task",
		breach: []string{
			messageBody("gen2.5-t2i", `{"role":"user","content":5}`), messageBody("gen2.5-t2i", `{"role":"user"}`),
		},
	},
	{
		id: "image.content.array", call: "task",
		breach: editMessages(
			`{"role":"user","content":"a cat"}`, `{"role":"user","content":null}`, `{"role":"user"}`,
			`{"role":"user","content":{"text":"a"}}`,
		),
	},
	{
		id: "image.content.array", call: "sync",
		breach: []string{messageBody("llm-image", `{"role":"user","content":"a cat"}`)},
	},
	{
		id: "image.content.item", call: "task",
		breach: editItems(oneImage+`,"x"`, oneImage+`,null`),
	},
	{
		id: "image.content.kind", call: "task",
		breach: editItems(oneImage+`,{"video":"http://a/b"}`, oneImage+`,{}`, oneImage+`,{"type":"text"}`),
	},
	{
		id: "image.content.unknown?", call: "sync",
		breach: []string{itemsBody("llm-image", `{"text":"a"},{"mask":"x"}`, "")},
	},
	{
		id: "image.content.text", call: "task",
		breach: editItems(`{"text":5},{"image":"http://a/b"}`),
	},
	{
		id: "image.prompt.single", call: "task",
		breach: editItems(`{"text":"a"},`+oneImage, `{"image":"http://a/b"}`),
	},
	{
		id: "image.sync.prompt", call: "sync",
		pass:   []string{itemsBody("llm-image", `{"text":"a"},{"image":"http://a/b"},{"text":"b"}`, "")},
		breach: []string{itemsBody("llm-image", `{"image":"http://a/b"}`, "")},
	},
	{
		id: "image.prompt.length?", call: "task",
		pass: editItems(each(prompt, strings.Repeat("a", 2000), strings.Repeat("猫", 2000), strings.Repeat("😀", 2000),
			strings.Repeat(`\ud83d\ude00`, 2000), strings.Repeat(`\r\n`, 1000), strings.Repeat("e\u0301", 1000))...),
		breach: editItems(each(prompt, strings.Repeat("a", 2001), strings.Repeat("猫", 2001), strings.Repeat("😀", 2001),
			strings.Repeat(`\u732b`, 2001), strings.Repeat(`\r\n`, 1000)+"x", strings.Repeat("e\u0301", 1001))...),
	},
	{
		id: "image.negative_prompt", call: "task",
		pass:   editParam("negative_prompt", `""`, `null`, `"x"`),
		breach: editParam("negative_prompt", `5`, `[]`),
	},
	{
		id: "image.negative_prompt.length?", call: "task",
		pass:   editParam("negative_prompt", `"`+strings.Repeat("猫", 500)+`"`),
		breach: editParam("negative_prompt", `"`+strings.Repeat("猫", 501)+`"`),
	},
	{
		id: "image.edit.images", call: "task",
		pass: editItems(
			`{"text":"a"}`+images(1), `{"text":"a"}`+images(4)), breach: editItems(`{"text":"a"}`,
			`{"text":"a"}`+images(5),
		),
	},
	{
		id: "image.interleave.images", call: "task+sse",
		pass:   interleaveItems(`{"text":"a"}`, `{"text":"a"}`+images(1)),
		breach: interleaveItems(`{"text":"a"}` + images(2)),
	},

	{
		id: "image.enable_interleave", call: "task",
		pass:   editParam("enable_interleave", `false`, `null`),
		breach: editParam("enable_interleave", slices.Clone(notBooleans)...),
	},
	{
		id: "image.interleave.stream", call: "task",
		breach: []string{interleaveBody("")},
	},
	{
		id: "image.interleave.stream", call: "task+accept",
		pass: []string{interleaveBody("")},
	},
	{
		id: "image.interleave.stream", call: "task+sse",
		pass:   []string{interleaveBody("")},
		breach: []string{itemsBody("gen2.6-image", oneImage, `"enable_interleave":true,"stream":false`)},
	},
	{
		id: "image.interleave.stream", call: "stream",
		pass:   []string{interleaveBody("")},
		breach: []string{itemsBody("gen2.6-image", oneImage, `"enable_interleave":true,"stream":false`)},
	},
	{
		id: "image.interleave.stream.absent?", call: "task+sse",
		breach: []string{
			itemsBody("gen2.6-image", oneImage, `"enable_interleave":true`),
			itemsBody("gen2.6-image", oneImage, `"enable_interleave":true,"stream":null`),
		},
	},
	{
		id: "image.interleave.stream.absent?", call: "stream",
		breach: []string{itemsBody("gen2.6-image", oneImage, `"enable_interleave":true`)},
	},
	{
		id: "image.stream", call: "task",
		pass:   editParam("stream", `false`, `null`),
		breach: editParam("stream", slices.Clone(notBooleans)...),
	},
	{
		id: "image.edit.stream?", call: "task",
		breach: editParam("stream", `true`),
	},
	{
		id: "image.n", call: "sync",
		pass: syncParam(
			"n", `1`, `6`, `null`), breach: syncParam("n", `0`, `-1`, `1.0`, `1e0`, `"1"`, `true`, `[1]`, `-0`,
			`99999999999999999999`, strings.Repeat("9", 64),
		),
	},
	{
		id: "image.edit.n", call: "task",
		pass: editParam("n", `1`, `4`, `null`),
		breach: editParam(
			"n", `0`, `5`, `-1`, `1.0`, `1e0`, `"1"`, `true`, `[1]`, `-0`, `99999999999999999999`,
			strings.Repeat("9", 64),
		),
	},
	{
		id: "image.interleave.n", call: "task+sse",
		pass:   interleaveParam("n", `1`, `null`),
		breach: interleaveParam("n", `2`, `0`, `4`, `"1"`),
	},
	{
		id: "image.interleave.max_images", call: "task+sse",
		pass:   interleaveParam("max_images", `1`, `5`, `null`),
		breach: interleaveParam("max_images", `0`, `6`, `-1`, `"5"`, `5.0`),
	},
	{
		id: "image.edit.max_images?", call: "task",
		pass:   editParam("max_images", `null`),
		breach: editParam("max_images", `5`, `6`),
	},
	{
		id: "image.prompt_extend", call: "task",
		pass:   editParam("prompt_extend", slices.Clone(booleans)...),
		breach: editParam("prompt_extend", slices.Clone(notBooleans)...),
	},
	{
		id: "image.interleave.prompt_extend?", call: "task+sse",
		pass:   interleaveParam("prompt_extend", `null`),
		breach: interleaveParam("prompt_extend", `true`, `false`),
	},
	{
		id: "image.watermark", call: "sync",
		pass:   syncParam("watermark", slices.Clone(booleans)...),
		breach: syncParam("watermark", slices.Clone(notBooleans)...),
	},
	{
		id: "image.seed", call: "task",
		pass:   editParam("seed", `0`, `2147483647`, `null`),
		breach: editParam("seed", `-1`, `2147483648`, `1.0`),
	},
}

func prompt(s string) string { return `{"text":"` + s + `"},{"image":"http://a/b"}` }

func interleaveItems(items ...string) []string {
	return each(func(v string) string {
		return itemsBody("gen2.6-image", v, `"enable_interleave":true,"stream":true`)
	}, items...)
}
