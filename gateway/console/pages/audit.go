package pages

import (
	"bytes"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sluice/gateway/console/access"
	"sluice/gateway/console/api"
	"sluice/policy/teams"
)

type auditView struct {
	Entries []auditEntry
	Team    string
	More    string
	Proof   *proof // nil: not asked for
	Verify  string
}

// proof is whether the audit is as it was written.
type proof struct {
	Entries int64
	Head    string   // SHA-256 of the last entry
	Faults  []string // nil: none
}

// auditEntry is an entry whose contents can be read.
type auditEntry struct {
	teams.Entry
	BeforeText, AfterText string
}

// audit lists the changes, the newest first.
func (s *site) audit(r *http.Request, p access.Person) (view, error) {
	if !p.SeesAll() {
		return view{}, errForbidden
	}
	q := r.URL.Query()
	v := auditView{Team: asked(q, "team")}
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
	entries, more, err := s.Teams.Audit(r.Context(), p, api.AuditFilter{Team: v.Team, Most: auditPage}, before)
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

// A page of the audit has at most 1 MiB, so that opening one costs little whatever is in it.
const (
	auditPage      = 100            // entries
	mostAuditBytes = 1<<20 - 32<<10 // of the entries' texts; the rest is the frame
	auditRow       = 2 << 10        // of a row, beside its texts
	mostAuditText  = 64 << 10       // of what was before or after, which only old entries have
)

// size is how many bytes of the page the entry takes at most.
func (e *auditEntry) size() int {
	n := auditRow
	for _, text := range []string{e.Who, e.Who, e.Reason, e.Reason, e.Address, e.What, e.Team, e.Team, e.Key, e.BeforeText, e.AfterText} {
		n += len(template.HTMLEscapeString(unmasked.Replace(text)))
	}
	return n
}

// indented writes JSON for people. What is too long is cut.
func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if len(text) == 0 || json.Indent(&b, text, "", "  ") != nil {
		b.Reset()
		b.Write(text)
	}
	shown := b.String()
	if len(shown) > mostAuditText {
		shown = strings.ToValidUTF8(shown[:mostAuditText], "") + "\n… " + grouped(int64(len(shown)-mostAuditText)) + " bytes more: sluice audit --json has them"
	}
	return shown
}
