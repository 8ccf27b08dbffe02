package policy_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy"
)

// ExampleRead reads a request for images and prints its possible cost.
func ExampleRead() {
	families := policy.Families{EditImage: []policy.Pattern{"gen2.6-image*"}}
	call := policy.Call{Endpoint: policy.EndpointImage, Async: []string{"enable"}}
	q, err := policy.Read(&families, call, []byte(`{"model":"gen2.6-image","input":{"messages":[{"role":"user",
		"content":[{"text":"a cat in a hat"},{"image":"https://a.example/cat.png"}]}]}}`))
	fmt.Println(q.Kind, q.Model, q.Images, err)
	_, err = policy.Read(&families, call, []byte(`{"model":"cheap","model":"dear"}`))
	fmt.Println(err)
	// Output:
	// task gen2.6-image 4 <nil>
	// the member "model" appears twice (byte 17)
}

// ExampleJudge refuses values out of bounds and warns of values that the service changes.
func ExampleJudge() {
	families := policy.Families{EditImage: []policy.Pattern{"gen2.6-image*"}}
	call := policy.Call{Endpoint: policy.EndpointImage, Async: []string{"enable"}}
	q, _ := policy.Read(&families, call, []byte(`{"model":"gen2.6-image","input":{"messages":[{"role":"user",
		"content":[{"text":"a cat in a hat"}]}]},"parameters":{"n":5,"size":"1281*1280"}}`))
	verdict := policy.Judge(nil, policy.Modes{"image.edit.n": policy.ModeWarn}, &q)
	for _, violation := range verdict.Violations {
		fmt.Println(violation)
	}
	for _, warning := range verdict.Warnings {
		fmt.Println(warning.Warning())
	}
	// Output:
	// input.messages[0].content: given 0, allowed 1 to 4 images (image.edit.images)
	// image.edit.n;given=5
	// image.size.multiple;given="\"1281*1280\""
}

// TestMemberOrder moves the members around: the pass gives the same request wherever the model, the role or the switch to
// interleaved mode is.
func TestMemberOrder(t *testing.T) {
	const (
		model      = `"model":"gen2.6-image"`
		input      = `"input":{"messages":[{"role":"user","content":[{"text":"a"},{"image":"ftp://a/b"}]}]}`
		turned     = `"input":{"messages":[{"content":[{"text":"a"},{"image":"ftp://a/b"}],"role":"user"}]}`
		parameters = `"parameters":{"n":3,"enable_interleave":true,"stream":true}`
		reversed   = `"parameters":{"stream":true,"enable_interleave":true,"n":3}`
	)
	type seen struct {
		Kind    policy.Kind
		N, Cost int
		Rules   []string
	}
	var want *seen
	for _, parts := range [][]string{
		{model, input, parameters}, {parameters, model, input}, {input, parameters, model}, {reversed, turned, model},
		{turned, model, reversed}, {`"unknown":{}`, model, `"other":[1]`, turned, parameters},
	} {
		q, err := policy.Read(&families, calls["task+sse"], []byte("{"+strings.Join(parts, ",")+"}"))
		if err != nil {
			t.Fatal(err)
		}
		got := seen{q.Kind, q.N, q.Images, ids(policy.Judge(nil, nil, &q))}
		if want == nil {
			want = &got
		}
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Errorf("%v:\n%s", parts, diff)
		}
	}
	if len(want.Rules) != 2 { // n and the address
		t.Errorf("broke %v", want.Rules)
	}
}

// TestPassesShareNothing reads different bodies at the same time: readers are pooled, their results are not.
func TestPassesShareNothing(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 300 {
				name := fmt.Sprintf("llm-%d-%d", i, j)
				faulty := `{"a":{"b":{"` + name + `":1`
				if _, err := policy.Read(&families, calls["text"], []byte(faulty)); err == nil {
					t.Error("half a document is taken")
				}
				q, err := policy.Read(&families, calls["text"], []byte(textBody(name, `"max_tokens":7,"stop":"`+name+`"`)))
				if err != nil || q.Model != name || q.Stop[0] != name || q.Messages != 1 {
					t.Errorf("%s: model %q, stop %q, %v", name, q.Model, q.Stop, err)
				}
			}
		})
	}
	group.Wait()
}

// TestPassIsSmall: the allocations of a pass are bounded, whatever the images, the text, and the number of messages or
// members in the body, legal or not.
func TestPassIsSmall(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"hi"},`, 49_000), ",")
	wrong := strings.TrimSuffix(strings.Repeat(`{"role":"nobody","content":5},`, 49_000), ",")
	for name, body := range map[string][]byte{
		"1 KB chat":          chatBody(),
		"8 KB of tools":      toolsBody(),
		"13 MB of images":    imageBody(1, 10<<20),
		"5 MB of text":       []byte(textBody("llm-max", `"x":"`+strings.Repeat("猫 and dog\\n", 400_000)+`"`)),
		"49,000 messages":    []byte(messageBody("llm-max", many)),
		"49,000 offenders":   []byte(messageBody("llm-max", wrong)),
		"100,000 stops":      []byte(textBody("llm-max", `"stop":["a"`+strings.Repeat(`,"word",12345,[7]`, 100_000)+`]`)),
		"1,000,000 items":    []byte(`{"a":[1` + strings.Repeat(",1", 999_999) + `]}`),
		"a model of 5 MB":    []byte(textBody(strings.Repeat("m", 5<<20), "")),
		"an address of 5 MB": []byte(itemsBody("gen2.6-image", `{"image":"http://`+strings.Repeat("m", 5<<20)+`"}`, "")),
	} {
		if bytes := allocated(t, calls["text"], body); bytes > 64<<10 {
			t.Errorf("%s: %d bytes allocated", name, bytes)
		}
	}
}

// allocated is how many bytes a pass and a judgement allocate, once the pool is warm.
func allocated(t *testing.T, call policy.Call, body []byte) uint64 {
	t.Helper()
	least := uint64(1 << 63)
	for range 4 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		q, err := policy.Read(&families, call, body)
		policy.Judge(nil, nil, &q)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// TestJudgeOfLegalAllocatesNothing: the judgement of a legal request allocates nothing.
func TestJudgeOfLegalAllocatesNothing(t *testing.T) {
	q, err := policy.Read(&families, calls["text+sse"], chatBody())
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { policy.Judge(nil, nil, &q) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// failing is a writer that accepts that many bytes.
type failing int

func (f *failing) Write(b []byte) (int, error) {
	if *f -= failing(len(b)); *f < 0 {
		return 0, fmt.Errorf("full")
	}
	return len(b), nil
}

// TestWriteRulesTellsFailure: a writer's error is returned, wherever it occurs.
func TestWriteRulesTellsFailure(t *testing.T) {
	for _, room := range []failing{0, 100, 10_000} {
		if err := policy.WriteRules(&room, ""); err == nil {
			t.Error("a full writer went unnoticed")
		}
	}
}
