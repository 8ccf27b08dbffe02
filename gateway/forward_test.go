package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"sluice/gateway/simulator"
)

// A request that Sluice refuses never reaches the service, and an accepted body arrives byte for byte, however it is
// written.
func TestPassage(t *testing.T) {
	var looks atomic.Int64 // the clock advances at each read, since a key with many broken requests a second is slowed down
	h := build(t, func(p *plan) {
		p.sim.KeepRequests, p.sim.MaxOutput = 1, 8
		p.now = func() time.Time { return time.Now().Add(time.Duration(looks.Add(1)) * 10 * time.Millisecond) }
	})
	rapid.Check(t, func(t *rapid.T) {
		for range 3 { // rapid checks a hundred times
			s := &scribe{t: t}
			way := rapid.SampledFrom(ways).Draw(t, "way")
			fault := rapid.SampledFrom(way.faults()).Draw(t, "fault")
			s.passes(h, way, s.body(way, fault), fault)
		}
	})
}

// passes sends one body and checks the result on both sides.
func (s *scribe) passes(h *harness, w way, body string, fault [2]string) {
	before := received(h.sim)
	got := h.ask("POST", w.path, body, w.header...)
	arrived, refused := received(h.sim)-before, got.header.Get("Sluice-Refusal") != ""
	if refused != (fault[0] != "") {
		s.t.Fatalf("fault %q: answered %d %s\n%s", fault, got.status, got.body, body)
	}
	if refused {
		if arrived != 0 || got.status != http.StatusBadRequest {
			s.t.Fatalf("refused with %d, and %d requests reached the service\n%s", got.status, arrived, body)
		}
		return
	}
	last := h.sim.Requests()[0]
	if got.status != http.StatusOK || arrived != 1 || last.BodySHA256 != hexSHA(body) {
		s.t.Fatalf("answered %d; %d requests arrived, the last of %d bytes %.500s, sent were %d\n%s",
			got.status, arrived, last.BodySize, last.Body, len(body), body)
	}
}

func received(sim *simulator.Simulator) (n int) {
	for _, endpoint := range []string{
		simulator.EndpointText, simulator.EndpointMultimodal, simulator.EndpointImage, simulator.EndpointSynthesis,
	} {
		n += sim.Count(endpoint)
	}
	return n
}

// way is a kind of request and how to break it.
type way struct {
	path, model string
	header      []string
	text        bool        // content may be a string
	prompt      bool        // the older form, input.prompt
	picture     bool        // needs a picture
	breaks      [][2]string // parameters that break a rule
}

// chatBreaks break text on both paths; n over 4 is not among them, since on the multimodal path it makes the request one
// for images.
var chatBreaks = [][2]string{{"n", "0"}, {"n", "1.0"}, {"temperature", "2"}, {"seed", "2147483648"}, {"stop", `["a",1]`}, {"tools", "{}"}}

var ways = []way{
	{path: textPath, model: "llm-max", text: true, breaks: chatBreaks},
	{path: textPath, model: "llm-max", text: true, breaks: chatBreaks, header: []string{"X-Service-SSE", "enable"}},
	{path: multimodalPath, model: "llm-vl", breaks: chatBreaks},
	{path: multimodalPath, model: "llm-image-2.0", breaks: [][2]string{{"size", `"640x480"`}, {"n", "0"}, {"watermark", "1"}}},
	{path: imagePath, model: "gen2.6-image", picture: true, header: []string{"X-Service-Async", "enable"},
		breaks: [][2]string{{"size", `"767*768"`}, {"n", "5"}, {"seed", "-1"}}},
	{path: olderPath, model: "gen2.5-t2i", prompt: true, header: []string{"X-Service-Async", "enable"}, breaks: [][2]string{{"n", "0"}}},
}

// faults are the ways to break the request; half of them break nothing. The parameter names that do not exist are for body.
func (w way) faults() [][2]string {
	all := append([][2]string{{"twice", ""}, {"trailing", ""}, {"case", ""}, {"model", ""}}, w.breaks...)
	return append(all, make([][2]string, len(all))...)
}

// scribe writes JSON in many spellings.
type scribe struct {
	t *rapid.T
	b strings.Builder
}

// literal is raw JSON.
type literal string

type member struct {
	name  string
	value any // string, literal, []any or []member
}

// body writes a request that breaks nothing but the rule of the fault.
func (s *scribe) body(w way, fault [2]string) string {
	parameters, members := []member{{"x_watch", s.words()}}, []member{{"input", s.input(w)}}
	switch fault[0] {
	case "model":
		members = append(members, member{"model", literal("5")})
	case "twice":
		members = append(members, member{"model", w.model}, member{"model", w.model})
	case "case":
		members = append(members, member{"model", w.model}, member{"MODEL", w.model})
	default:
		members = append(members, member{"model", w.model})
		if fault[0] != "" && fault[0] != "trailing" {
			parameters = append(parameters, member{fault[0], literal(fault[1])})
		}
	}
	s.write(append(members, member{"parameters", parameters}))
	s.space()
	if fault[0] == "trailing" {
		s.b.WriteString("{}")
	}
	return s.b.String()
}

func (s *scribe) input(w way) any {
	if w.prompt {
		return []member{{"prompt", s.words()}}
	}
	var content any = s.words()
	if !w.text {
		items := []any{[]member{{"text", s.words()}}}
		if w.picture {
			items = append(items, []member{{"image", "https://example.com/a/b.png?c=ä"}})
		}
		content = items
	}
	return []member{{"messages", []any{[]member{{"role", "user"}, {"content", content}}}}}
}

// words are never empty, which the simulator would refuse as a prompt.
func (s *scribe) words() string {
	runes := rapid.SampledFrom([]rune("az \"\\/\b\n\té中\u2028\u00a0\u0301🌊𝄞\x7f\x00"))
	return "w" + string(rapid.SliceOfN(runes, 0, 12).Draw(s.t, "words"))
}

func (s *scribe) write(value any) {
	s.space()
	switch v := value.(type) {
	case string:
		s.string(v)
	case literal:
		s.b.WriteString(string(v))
	case []any:
		s.list('[', ']', len(v), func(i int) { s.write(v[i]) })
	case []member:
		v = s.strangers(v)
		order := rapid.Permutation(v).Draw(s.t, "order")
		s.list('{', '}', len(v), func(i int) {
			s.space()
			s.string(order[i].name)
			s.space()
			s.b.WriteByte(':')
			s.write(order[i].value)
		})
	}
	s.space()
}

func (s *scribe) list(open, end byte, n int, one func(int)) {
	s.b.WriteByte(open)
	for i := range n {
		if i > 0 {
			s.b.WriteByte(',')
		}
		one(i)
	}
	s.b.WriteByte(end)
}

// strangers adds unknown members.
func (s *scribe) strangers(v []member) []member {
	values := []any{"ü\x00", literal("1e3"), literal("-0.0"), literal("null"), []any{literal("1"), "x"}, literal(`{"n":99,"N":1}`)}
	out := append([]member(nil), v...)
	for i := range rapid.IntRange(0, 2).Draw(s.t, "strangers") {
		out = append(out, member{fmt.Sprintf("x-%d-é", i), rapid.SampledFrom(values).Draw(s.t, "value")})
	}
	return out
}

func (s *scribe) space() {
	s.b.WriteString(rapid.SampledFrom([]string{"", "", "", " ", "\n", "\r\n\t", "    "}).Draw(s.t, "space"))
}

// string writes each character as itself where JSON allows it, or as one of its escapes.
func (s *scribe) string(v string) {
	s.b.WriteByte('"')
	for _, c := range v {
		short, bare := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\n': `\n`, '\t': `\t`}[c], c >= ' ' && c != '"' && c != '\\'
		switch how := rapid.IntRange(0, 9).Draw(s.t, "escape"); {
		case bare && how < 7:
			s.b.WriteRune(c)
		case short != "" && how < 9:
			s.b.WriteString(short)
		default:
			for _, unit := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(&s.b, rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(s.t, "hex"), unit)
			}
		}
	}
	s.b.WriteByte('"')
}

// Anthropic's libraries send their key in a header of their own, also to a forwarded path of their form.
func TestForwardedPathsOfMessagesTakeAnthropicsKey(t *testing.T) {
	var saw atomic.Pointer[http.Header]
	h := build(t, governed, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			saw.Store(&r.Header)
			_, _ = io.WriteString(w, formed["messages"].answer)
		})
	})
	key := h.keys["search"]
	for path, status := range map[string]int{"compatible/messages/v1/messages": 200, "compatible/chat": 401} {
		got := h.ask("POST", "/api/v1/"+path, formed["messages"].body, "Authorization", "", "X-Api-Key", key)
		if got.status != status {
			t.Errorf("%s: %d %s, want %d", path, got.status, got.body, status)
		}
	}
	if sent := saw.Load(); sent == nil || strings.Contains(fmt.Sprint(*sent), key) {
		t.Errorf("the service got %v", sent)
	}
}
