package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/gateway/simulator"
	"sluice/policy"
)

// The simulator was written only from interface.md and shares no code with package policy. Both judge the same requests; every
// difference is in the table of differences with its reason, or is a fault of one of them.
func TestAgreement(t *testing.T) {
	c := newCourt()
	for _, s := range docket(t) {
		if said := c.try(s); said != "" {
			t.Error(said)
		}
		if c.failed == 20 {
			t.Fatal("and so on")
		}
	}
	for i := range differences {
		if c.seen[i] == 0 {
			t.Errorf("no request shows the difference %q: it is stale", differences[i].why)
		}
	}
	t.Logf("%d requests: %d legal to both, %d to neither, %d differences explained", c.tried, c.passed, c.refused, c.tried-c.passed-c.refused)
	if c.tried < 5000 || c.passed < 500 || c.refused < 500 {
		t.Error("too few requests for a conclusion")
	}
}

// Random requests with several changes at once.
func TestAgreementAtRandom(t *testing.T) {
	all := changes(t)
	c := newCourt()
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			s := rapid.SampledFrom(bases).Draw(t, "base")
			for range rapid.IntRange(1, 4).Draw(t, "changes") {
				one := rapid.SampledFrom(all).Draw(t, "change")
				s = s.set(one[0], one[1])
			}
			if said := c.try(s); said != "" {
				t.Fatal(said)
			}
		}
	})
}

// court lets both implementations judge.
type court struct {
	sim                            *simulator.Simulator
	families                       policy.Families
	tried, passed, refused, failed int
	seen                           []int // how often each difference occurred
}

func newCourt() *court {
	return &court{
		sim:      simulator.New(simulator.Config{TaskRate: -1, KeepRequests: -1, KeepBody: -1, MaxOutput: 1, FrameTokens: 1 << 20}),
		families: settings().Families, seen: make([]int, len(differences)),
	}
}

// try describes a difference without a reason; empty: no such difference.
func (c *court) try(s sent) string {
	c.tried++
	violations, complaint := s.byPolicy(&c.families), s.bySimulator(c.sim)
	switch {
	case len(violations) == 0 && complaint == "":
		c.passed++
		return ""
	case len(violations) > 0 && complaint != "":
		c.refused++
		return ""
	case complaint != "":
		violations = []policy.Finding{{}}
	}
	for _, v := range violations { // each alone would refuse a request that the simulator accepts
		if !c.explain(s, v, complaint) {
			c.failed++
			return fmt.Sprintf("%s %v\n%s\npolicy: %v\nsimulator: %s", s.path, s.header, s.body(), v, complaint)
		}
	}
	return ""
}

func (c *court) explain(s sent, v policy.Finding, complaint string) (explained bool) {
	for i, d := range differences {
		if d.matches(s, v, complaint) {
			c.seen[i]++
			explained = true
		}
	}
	return explained
}

// byPolicy returns the violations; invalid JSON is also a violation.
func (s sent) byPolicy(families *policy.Families) []policy.Finding {
	call := policy.Call{Async: s.header["X-Service-Async"], SSE: s.header["X-Service-Sse"], Accept: s.header.Get("Accept")}
	call.Older = s.path == olderPath
	switch s.path {
	case textPath:
		call.Endpoint = policy.EndpointText
	case multimodalPath:
		call.Endpoint = policy.EndpointMultimodal
	default:
		call.Endpoint = policy.EndpointImage
	}
	request, err := policy.Read(families, call, []byte(s.body()))
	if err != nil {
		return []policy.Finding{{Rule: "body", Given: err.Error()}}
	}
	return policy.Judge(nil, nil, &request).Violations
}

// bySimulator returns the refusal of the simulator: by its status, or in a frame of a stream.
func (s sent) bySimulator(sim *simulator.Simulator) string {
	r := httptest.NewRequest(http.MethodPost, s.path, strings.NewReader(s.body()))
	for name, values := range s.header {
		r.Header[name] = values
	}
	r.Header.Set("Authorization", "Bearer any")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, r)
	answer := w.Body.String()
	if w.Code >= 400 || strings.Contains(answer, "event:error\n:HTTP_STATUS/4") {
		return strconv.Itoa(w.Code) + " " + answer
	}
	return ""
}
