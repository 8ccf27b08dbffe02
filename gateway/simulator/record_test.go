package simulator

import (
	"fmt"
	"sync"
	"testing"

	"sluice/gateway/simulator/fault"
)

func TestRecorderKeepsTheLast(t *testing.T) {
	for _, tt := range []struct{ keep, requests, want int }{
		{3, 0, 0}, {3, 2, 2}, {3, 3, 3}, {3, 4, 3}, {3, 100, 3}, {0, 5, 0}, {-1, 5, 0},
	} {
		r := newRecorder(tt.keep)
		for i := range tt.requests {
			r.add(&Received{ID: fmt.Sprint(i), Endpoint: EndpointText})
		}
		list := r.list()
		if len(list) != tt.want {
			t.Errorf("keeping %d, %d requests leave %d", tt.keep, tt.requests, len(list))
		}
		for i, rec := range list {
			if want := fmt.Sprint(tt.requests - tt.want + i); rec.ID != want {
				t.Errorf("keeping %d of %d: entry %d is %s, want %s", tt.keep, tt.requests, i, rec.ID, want)
			}
		}
		var tally Tally
		if r.tally(&tally); tally.Requests[EndpointText] != tt.requests {
			t.Errorf("counted %v, want %d", tally.Requests, tt.requests)
		}
	}
}

func TestRecorderBoundsViolations(t *testing.T) {
	r := newRecorder(1)
	for range maxViolations + 50 {
		r.add(&Received{Violation: "wrong"})
	}
	if len(r.violations) != maxViolations {
		t.Errorf("kept %d violations", len(r.violations))
	}
}

func TestRecorderCountsAnExecutionOnce(t *testing.T) {
	r := newRecorder(1)
	rec := &Received{Endpoint: EndpointImage}
	r.add(rec)
	r.setExecuted(rec)
	r.setExecuted(rec)
	var tally Tally
	if r.tally(&tally); tally.Executed[EndpointImage] != 1 {
		t.Errorf("executed %v", tally.Executed)
	}
}

func TestRequestsAreCopies(t *testing.T) {
	r := newRecorder(1)
	rec := &Received{}
	r.add(rec)
	before := r.list()[0]
	r.setStatus(rec, 200)
	if before.Status != 0 || r.list()[0].Status != 200 {
		t.Error("a copy changed with the original")
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
					r.SetFault(fault.Fault{Times: 1})
					r.post(textPath, say("hi", ""))
				}
			}
		})
	}
	all.Wait()
	tally := r.Tally()
	// Per round of five: one stream, one creation, one poll, one list, one
	// synchronous image and one plain text.
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
