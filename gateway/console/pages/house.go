package pages

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

type rulesView struct {
	figures.Rules
	Table             []rule
	Counted           bool // the counts are known
	Find, Span        string
	Day               bool
	All               int
	Broken            int // rules of the table
	Warnings, Refusal int64
	RefusedURL        string // of the refused requests
	AllURL            string // of all rules
	Spans             []choice
}

// rules shows the table of rules, broken ones first.
func (s *site) rules(r *http.Request, p access.Person) (view, error) {
	q := r.URL.Query()
	v := rulesView{Find: q.Get("find"), Day: q.Get("span") == "day", Span: "in the last hour"}
	if v.Day {
		v.Span = "in the last 24 hours"
	}
	counts, unread := s.Figures.Rules(r.Context(), p, v.Day) // show the table even if the counts cannot be read
	v.Rules, v.Counted = counts, unread == nil
	for _, row := range policy.Table(s.Prefix) {
		x := newRule(row, s.Modes, counts.Broken[row.ID])
		v.Warnings, v.Refusal, v.All = v.Warnings+x.Warned, v.Refusal+x.Refused, v.All+1
		if x.Warned+x.Refused > 0 {
			v.Broken++
		}
		if contains(v.Find, x.ID, x.Field, x.From, string(x.Mode)) {
			v.Table = append(v.Table, x)
		}
	}
	slices.SortStableFunc(v.Table, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Warned, a.Warned))
	})
	v.RefusedURL = "/requests?" + url.Values{"refusal": {"inspect/rules"}, "from": {counts.Since.UTC().Format(time.RFC3339)}}.Encode()
	v.AllURL = rulesURL("", q.Get("span"))
	v.Spans = []choice{{"Last hour", rulesURL(v.Find, ""), !v.Day}, {"Last 24 hours", rulesURL(v.Find, "day"), v.Day}}
	return view{page: "rules", title: "Rules", data: v}, nil
}

// rule is a row of the table of rules, and how often requests broke it.
type rule struct {
	policy.Row
	recent.RuleCount
	Set bool // the mode is not the default one
}

func newRule(row policy.Row, modes policy.Modes, broken recent.RuleCount) rule {
	x := rule{Row: row, RuleCount: broken}
	x.Mode, x.From = modes.Of(row.ID, row.Mode), plain(row.From)
	x.Set = x.Mode != row.Mode
	return x
}

// plain returns a sentence of the service's document without the leading reference and the bars of a table.
func plain(from string) string {
	if place, rest, found := strings.Cut(from, ": "); found && len(place) == 1 {
		from = rest
	}
	cells := strings.Split(from, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return strings.Join(slices.DeleteFunc(cells, func(cell string) bool { return cell == "" }), " · ")
}

func rulesURL(find, span string) string {
	values := url.Values{}
	for name, value := range map[string]string{"find": find, "span": span} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return "/rules"
	}
	return "/rules?" + values.Encode()
}

type auditView struct {
	Entries []auditEntry
	Team    string
	More    string
	Proof   *proof // nil: not asked for
	Verify  string
}

// proof is the result of verifying the audit.
type proof struct {
	Entries int64
	Head    string   // SHA-256 of the last entry
	Faults  []string // nil: none
}

// auditEntry is an entry with its states as text.
type auditEntry struct {
	teams.Entry
	BeforeText, AfterText string
}

// audit lists the changes, newest first.
func (s *site) audit(r *http.Request, p access.Person) (view, error) {
	if !p.SeesAll() {
		return view{}, errForbidden
	}
	q := r.URL.Query()
	v := auditView{Team: asked(q, "team")}
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
	entries, more, err := s.Teams.Audit(r.Context(), p, console.AuditFilter{Team: v.Team, Most: auditPage}, before)
	if err != nil {
		return view{}, err
	}
	if q.Get("verify") != "" {
		v.Proof = &proof{}
		if v.Proof.Entries, v.Proof.Head, v.Proof.Faults, err = s.Teams.Prove(r.Context(), p); err != nil {
			return view{}, err
		}
	}
	for i, size := 0, 0; i < len(entries); i++ {
		e := auditEntry{entries[i], indented(entries[i].Before), indented(entries[i].After)}
		if size += e.size(); size > mostAuditBytes {
			more = true
			break
		}
		v.Entries = append(v.Entries, e)
	}
	if n := len(v.Entries); more && n > 0 {
		v.More = "/audit?" + url.Values{"team": {v.Team}, "before": {strconv.FormatInt(v.Entries[n-1].Seq, 10)}}.Encode()
	}
	v.Verify = "/audit?" + url.Values{"team": {v.Team}, "verify": {"1"}}.Encode()
	return view{page: "audit", title: "Audit", data: v}, nil
}

// A page of the audit has at most 1 MiB, so that it is cheap to open.
const (
	auditPage      = 100            // entries
	mostAuditBytes = 1<<20 - 32<<10 // bytes of the rows; the rest is the frame
	auditRow       = 2 << 10        // bytes of a row without its texts
	mostAuditText  = 64 << 10       // bytes of the state before or after; only old entries have more
)

// size returns an upper bound of the entry's bytes on the page.
func (e *auditEntry) size() int {
	n := auditRow
	for _, text := range []string{e.Who, e.Who, e.Reason, e.Reason, e.Address, e.What, e.Team, e.Team, e.Key, e.BeforeText, e.AfterText} {
		n += len(template.HTMLEscapeString(unmasked.Replace(text)))
	}
	return n
}

// indented formats JSON for people, and cuts it if it is too long.
func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if len(text) == 0 || json.Indent(&b, text, "", "  ") != nil {
		b.Reset()
		b.Write(text)
	}
	shown := b.String()
	if len(shown) > mostAuditText {
		shown = strings.ToValidUTF8(shown[:mostAuditText], "") + "\n… " + grouped(int64(len(shown)-mostAuditText)) +
			" bytes more: sluice audit --json has them"
	}
	return shown
}

// config shows the effective settings, without secrets.
func (s *site) config(_ *http.Request, p access.Person) (view, error) {
	if !p.SeesAll() {
		return view{}, errForbidden
	}
	c := s.Config()
	return view{page: "config", title: "Config", data: struct {
		Config
		About []warned
	}{c, warnedOf(c.Warnings)}}, nil
}

// warned are the warnings about one setting.
type warned struct {
	Of    string
	Texts []string
}

// Few reports whether the warnings need not be folded.
func (w warned) Few() bool { return len(w.Texts) <= 3 }

// warnedOf groups warnings by the setting with which they begin.
func warnedOf(texts []string) (all []warned) {
	for _, text := range texts {
		of, rest, found := strings.Cut(text, ": ")
		if !found {
			of, rest = "Settings", text
		}
		at := slices.IndexFunc(all, func(w warned) bool { return w.Of == of })
		if at < 0 {
			at, all = len(all), append(all, warned{Of: of})
		}
		all[at].Texts = append(all[at].Texts, rest)
	}
	return all
}
