package simulator

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/simulator/answer"
)

func TestBill(t *testing.T) {
	var b bill
	b.add("llm-b", answer.Cost{Input: 3, Output: 4})
	b.add("llm-a", answer.Cost{Images: 2})
	b.add("llm-b", answer.Cost{Output: 1})
	b.add("llm-c", answer.Cost{})
	var got Tally
	b.tally(&got)
	want := Tally{Tokens: 8, Images: 2, Spent: []Spend{
		{"llm-a", UnitImages, 2}, {"llm-b", UnitInputTokens, 3}, {"llm-b", UnitOutputTokens, 5},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tally (-want +got):\n%s", diff)
	}
	b.reset()
	got = Tally{}
	if b.tally(&got); got.Tokens != 0 || len(got.Spent) != 0 {
		t.Errorf("after reset: %+v", got)
	}
}

func TestBillIsBounded(t *testing.T) {
	var b bill
	const models = 10_000
	for i := range models {
		b.add(fmt.Sprint("llm-", i), answer.Cost{Input: 1, Output: 1})
	}
	var got Tally
	b.tally(&got)
	if len(got.Spent) > maxBilled+3 || got.Tokens != 2*models {
		t.Errorf("%d lines for %d tokens", len(got.Spent), got.Tokens)
	}
}

func TestTallyByModelAndUnit(t *testing.T) {
	r := newRig(t, Config{})
	r.post(textPath, say("hi there", `"max_tokens":5`))
	r.post(multimodalPath, draw(`"n":2`))
	r.createTask(imagePath, edit(`"n":3`))
	r.createTask(olderPath, older(``))
	want := []Spend{
		{"gen2.2-t2i", UnitImages, 4}, {"gen2.6-image", UnitImages, 3}, {"llm-image-plus", UnitImages, 2},
		{"llm-plus", UnitInputTokens, 6}, {"llm-plus", UnitOutputTokens, 5},
	}
	got := r.Tally()
	if diff := cmp.Diff(want, got.Spent); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
	if got.Images != 9 || got.Tokens != 11 {
		t.Errorf("sums are %d images and %d tokens", got.Images, got.Tokens)
	}
	if diff := cmp.Diff(map[string]int{EndpointText: 1, EndpointMultimodal: 1, EndpointImage: 1, EndpointSynthesis: 1}, got.Executed); diff != "" {
		t.Errorf("executed (-want +got):\n%s", diff)
	}
	if r.Count(EndpointText) != 1 || r.Count(EndpointTask) != 0 {
		t.Errorf("counts are %v", got.Requests)
	}
	r.Reset()
	if got := r.Tally(); got.Images != 0 || got.Tokens != 0 || len(got.Requests) != 0 || len(r.Requests()) != 0 {
		t.Errorf("after Reset: %+v", got)
	}
}

func TestRefusedRequestsCostNothing(t *testing.T) {
	r := newRig(t, Config{})
	r.post(textPath, `{}`)
	r.post(multimodalPath, draw(`"n":0`))
	r.post(imagePath, edit(``))
	r.get(tasksPath)
	if got := r.Tally(); len(got.Spent) != 0 || len(got.Executed) != 0 {
		t.Errorf("refusals cost %+v", got)
	}
}
