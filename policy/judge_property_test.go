package policy_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy"
)

// spread is a parameter with legal and illegal values, and the rule with the bound between them.
type spread struct {
	name, rule     string
	legal, illegal []string
}

var textBounds = []spread{
	{"temperature", "text.temperature", []string{"0", "1.999", "null", "0.7"}, []string{"2", "-1", `"1"`}},
	{"top_p", "text.top_p", []string{"1", "0.001", "null"}, []string{"0", "1.1", "[]"}},
	{"top_k", "text.top_k", []string{"0", "100", "null"}, []string{"-1", "1.5", "{}"}},
	{"repetition_penalty", "text.repetition_penalty", []string{"1", "0.1"}, []string{"0", "-1"}},
	{"presence_penalty", "text.presence_penalty", []string{"-2", "2", "0"}, []string{"-2.1", "2.1"}},
	{"max_tokens", "text.max_tokens", []string{"1", "8192"}, []string{"0", `"9"`}},
	{"seed", "text.seed", []string{"0", "2147483647"}, []string{"-1", "2147483648"}},
	{"stop", "text.stop", []string{`"a"`, `["a"]`, `[1]`, `[[1]]`}, []string{"1", "{}"}},
	{"n", "text.n", []string{"1", "2", "4"}, []string{"0", "5", "1.0"}},
	{"logprobs", "text.logprobs", []string{"true", "false"}, []string{"1", `"true"`}},
	{"result_format", "text.result_format", []string{`"text"`, `"message"`}, []string{`"json"`, "1"}},
	{"response_format", "text.response_format", []string{`{"type":"text"}`, `{"type":"json_object"}`}, []string{`"text"`}},
	{"unknown_option", "", []string{"1", `{"N":1}`, "[[]]"}, nil},
}

// chatBounds are those of text, except that n over 4 makes the request one for images.
var chatBounds = slices.Concat(slices.DeleteFunc(slices.Clone(textBounds), func(s spread) bool { return s.name == "n" }),
	[]spread{{"n", "text.n", []string{"1", "2", "4"}, []string{"0", "1.0"}}})

var editBounds = []spread{
	{"n", "image.edit.n", []string{"1", "4", "null"}, []string{"0", "5", `"4"`}},
	{"seed", "image.seed", []string{"0", "2147483647"}, []string{"-1", "2147483648"}},
	{"size", "image.edit.size", []string{`"1K"`, `"2K"`, `"1280*720"`}, []string{`"1280x720"`, "1280"}},
	{"size", "image.edit.size.area", nil, []string{`"512*512"`, `"4096*4096"`}},
	{"watermark", "image.watermark", []string{"true", "null"}, []string{"1"}},
	{"prompt_extend", "image.prompt_extend", []string{"false"}, []string{`"false"`}},
	{"negative_prompt", "image.negative_prompt", []string{`""`, `"blurry"`}, []string{"[]"}},
	{"stream", "image.stream", []string{"false"}, []string{"0"}},
}

var interleaveBounds = []spread{
	{"n", "image.interleave.n", []string{"1", "null"}, []string{"2", "0"}},
	{"max_images", "image.interleave.max_images", []string{"1", "5"}, []string{"0", "6"}},
	{"size", "image.interleave.size", []string{`"1280*1280"`, `"768*768"`}, []string{`"1K"`, `"2K"`}},
	{"seed", "image.seed", []string{"7"}, []string{"-7"}},
	{"watermark", "image.watermark", []string{"false"}, []string{"{}"}},
}

var syncBounds = []spread{
	{"n", "image.n", []string{"1", "6"}, []string{"0", "-1"}},
	{"size", "image.sync.size", []string{`"1328*1328"`, `"64*64"`}, []string{`"1K"`, `"a"`}},
	{"watermark", "image.watermark", []string{"true"}, []string{`"on"`}},
	{"negative_prompt", "image.negative_prompt", []string{`""`}, []string{"1"}},
	{"seed", "", []string{"1", "99999999999"}, nil}, // no bound is stated on this path
}

// sorts are the kinds of requests that the property is tested with.
var sorts = []struct {
	call   string
	body   func(string) string
	bounds []spread
}{
	{"text+sse", func(p string) string { return textBody("llm-max", p) }, textBounds},
	{"chat", func(p string) string { return chatParameters("llm-vl", p) }, chatBounds},
	{"task", editBody, editBounds},
	{"task+sse", func(p string) string { return interleaveBody("," + p) }, interleaveBounds},
	{"sync", syncBody, syncBounds},
}

// TestLegalPassesIllegalIsNamed draws requests of legal parameters in any order: they break no rule. Then it makes some of them
// illegal: exactly their rules are broken, all in one verdict.
func TestLegalPassesIllegalIsNamed(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sort := rapid.SampledFrom(sorts).Draw(r, "sort")
		members, want := []string{}, []string{}
		taken := map[string]bool{}
		for _, b := range rapid.Permutation(sort.bounds).Draw(r, "order") {
			if taken[b.name] {
				continue
			}
			switch choice := rapid.IntRange(0, 3).Draw(r, "choice"); {
			case choice < 2 && len(b.legal) > 0:
				members = append(members, fmt.Sprintf("%q:%s", b.name, rapid.SampledFrom(b.legal).Draw(r, "legal")))
			case choice == 2 && len(b.illegal) > 0:
				members = append(members, fmt.Sprintf("%q:%s", b.name, rapid.SampledFrom(b.illegal).Draw(r, "illegal")))
				want = append(want, b.rule)
			default:
				continue
			}
			taken[b.name] = true
		}
		parameters := strings.Join(append(members, `"last_unknown":1`), ",")
		body := sort.body(parameters)
		q, err := policy.Read(&families, calls[sort.call], []byte(body))
		if err != nil {
			r.Fatalf("%s: %v", body, err)
		}
		got := ids(policy.Judge(nil, nil, &q))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			r.Errorf("%s\nbroke %v, want %v", body, got, want)
		}
		if q.N < 1 || q.Images < 0 || q.TextLength < 0 {
			r.Errorf("%s: n %d, images %d, text %d", body, q.N, q.Images, q.TextLength)
		}
	})
}

// TestFamiliesSleep judges requests that break the rules of families while the families' lists are empty: no rule objects.
func TestFamiliesSleep(t *testing.T) {
	none := policy.Families{SyncImage: families.SyncImage, EditImage: families.EditImage}
	ofFamily := regexp.MustCompile(`^text\..*(\.visual|\.vision|\.reasoning|result_format\.thinking|max_pixels\.limit)`)
	tried := map[string]bool{}
	for _, tt := range ruleCases(t) {
		if !ofFamily.MatchString(tt.about) || tt.want == "" {
			continue
		}
		tried[tt.about] = true
		if got := verdict(t, &none, tt.call, tt.body); strings.Contains(strings.Join(got, " "), tt.about) {
			t.Errorf("%s woke: %s", tt.about, tt.body)
		}
	}
	if len(tried) < 10 {
		t.Errorf("only %d rules of families", len(tried))
	}
}

// TestNoImageFamilies: with empty lists a synchronous image is a chat unless its parameters are those of images, and a task gets
// form rules only.
func TestNoImageFamilies(t *testing.T) {
	none := policy.Families{}
	q, err := policy.Read(&none, calls["sync"], []byte(syncBody(`"n":4`)))
	if err != nil || q.Kind != policy.KindChat || q.Images != 0 {
		t.Errorf("kind %q, images %d, %v", q.Kind, q.Images, err)
	}
	if got := verdict(t, &none, "task", editBody(`"n":9,"size":"x","max_images":0`)); len(got) > 0 {
		t.Errorf("broke %v", got)
	}
}
