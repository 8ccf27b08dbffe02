package pages

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"sluice/gateway/console/access"
	"sluice/policy/directory"
)

type auditView struct {
	Entries []auditEntry
	Team    string
	More    string
	Proof   *Proof // nil: not asked for
	Verify  string
}

// auditEntry is an entry whose contents can be read.
type auditEntry struct {
	directory.Entry
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
	entries, err := s.House.Audit(r.Context(), p, v.Team, before)
	if err != nil {
		return view{}, err
	}
	if q.Get("verify") != "" {
		proof, err := s.House.Proof(r.Context(), p)
		if err != nil {
			return view{}, err
		}
		v.Proof = &proof
	}
	for i := range entries {
		v.Entries = append(v.Entries, auditEntry{entries[i], indented(entries[i].Before), indented(entries[i].After)})
	}
	if n := len(entries); n >= pageLength && entries[n-1].Seq > 1 {
		v.More = "/audit?" + url.Values{"team": {v.Team}, "before": {strconv.FormatInt(entries[n-1].Seq, 10)}}.Encode()
	}
	v.Verify = "/audit?" + url.Values{"team": {v.Team}, "verify": {"1"}}.Encode()
	return view{page: "audit", title: "Audit", data: v}, nil
}

// indented writes JSON for people.
func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if len(text) == 0 || json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
