package simulator

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestBill(t *testing.T) {
	b := newLedger(0)
	b.bill("llm-b", cost{input: 3, output: 4})
	b.bill("llm-a", cost{images: 2})
	b.bill("llm-b", cost{output: 1})
	b.bill("llm-c", cost{})
	got := b.tally()
	want := Tally{Tokens: 8, Images: 2, Spent: []Spend{
		{"llm-a", UnitImages, 2}, {"llm-b", UnitInputTokens, 3}, {"llm-b", UnitOutputTokens, 5},
	}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tally (-want +got):\n%s", diff)
	}
	b.reset()
	if got = b.tally(); got.Tokens != 0 || len(got.Spent) != 0 {
		t.Errorf("after reset: %+v", got)
	}
}

func TestBillIsBounded(t *testing.T) {
	b := newLedger(0)
	const models = 10_000
	for i := range models {
		b.bill(fmt.Sprint("llm-", i), cost{input: 1, output: 1})
	}
	got := b.tally()
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

func TestLedgerKeepsTheLast(t *testing.T) {
	for _, tt := range []struct{ keep, requests, want int }{
		{3, 0, 0}, {3, 2, 2}, {3, 3, 3}, {3, 4, 3}, {3, 100, 3}, {0, 5, 0}, {-1, 5, 0},
	} {
		l := newLedger(tt.keep)
		for i := range tt.requests {
			l.add(Received{ID: fmt.Sprint(i), Endpoint: EndpointText})
		}
		list, _ := l.list()
		if len(list) != tt.want || cap(l.last) > 2*max(tt.keep, 4) {
			t.Errorf("keeping %d, %d requests leave %d in room for %d", tt.keep, tt.requests, len(list), cap(l.last))
		}
		for i, rec := range list {
			if want := fmt.Sprint(tt.requests - tt.want + i); rec.ID != want {
				t.Errorf("keeping %d of %d: entry %d is %s, want %s", tt.keep, tt.requests, i, rec.ID, want)
			}
		}
		if tally := l.tally(); tally.Requests[EndpointText] != tt.requests {
			t.Errorf("counted %v, want %d", tally.Requests, tt.requests)
		}
	}
}

func TestLedgerBoundsViolations(t *testing.T) {
	l := newLedger(1)
	for range maxViolations + 50 {
		l.add(Received{})
	}
	if _, violations := l.list(); len(violations) != maxViolations {
		t.Errorf("kept %d violations", len(violations))
	}
}

func TestConcurrentRequests(t *testing.T) {
	r := newRig(t, Config{TaskRate: -1})
	const workers, each = 8, 20
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				switch (w + i) % 5 {
				case 0:
					r.post(textPath, say("hi", ""), sse...)
				case 1:
					r.poll(r.createTask(imagePath, edit("")))
				case 2:
					r.get(tasksPath)
				case 3:
					r.post(multimodalPath, draw(""))
				case 4:
					r.Requests()
					r.Tally()
					r.SetFault(Fault{Times: 1})
					r.post(textPath, say("hi", ""))
				}
			}
		})
	}
	all.Wait()
	tally := r.Tally()
	// Each round of five has one stream, one creation, one poll, one list, one synchronous image and one plain text.
	const rounds = workers * each / 5
	want := map[string]int{EndpointText: 2 * rounds, EndpointImage: rounds, EndpointTask: rounds, EndpointList: rounds, EndpointMultimodal: rounds}
	for endpoint, n := range want {
		if tally.Requests[endpoint] != n {
			t.Errorf("%s had %d requests, want %d", endpoint, tally.Requests[endpoint], n)
		}
	}
	if want := int64(rounds*4 + rounds); tally.Images != want {
		t.Errorf("billed %d images, want %d", tally.Images, want)
	}
	if v := r.Violations(); len(v) != 0 {
		t.Errorf("violations %q", v)
	}
}
