package teams

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
)

// draft is a team, or the defaults of all, while it is read. Its limits lie in maps, so that a team's take the place
// of the defaults' one limit at a time.
type draft struct {
	team   Team
	rates  map[Unit]Rate
	quotas map[quotaName]int64
}

type quotaName struct {
	unit   Unit
	period Period
}

func newDraft() *draft {
	return &draft{rates: map[Unit]Rate{}, quotas: map[quotaName]int64{}}
}

func (d *draft) clone() *draft {
	return &draft{d.team, maps.Clone(d.rates), maps.Clone(d.quotas)}
}

// finish puts the limits in order. A team's modes lie over those of the defaults already.
func (d *draft) finish() *Team {
	for _, unit := range Units {
		if rate, ok := d.rates[unit]; ok {
			d.team.Rates = append(d.team.Rates, rate)
		}
		for _, period := range Periods {
			if limit, ok := d.quotas[quotaName{unit, period}]; ok {
				d.team.Quotas = append(d.team.Quotas, Quota{unit, period, limit})
			}
		}
	}
	return &d.team
}

// shared lists the fields that a team and the defaults have in common.
func (r *fileReader) shared(d *draft) []fileField {
	t := &d.team
	return []fileField{
		{"models", func(v fileNode) { t.Models = r.patterns(v) }},
		{"endpoints", func(v fileNode) { t.Endpoints = r.endpoints(v) }},
		{"rates", func(v fileNode) { r.rates(v, d.rates) }},
		{"quotas", func(v fileNode) { r.quotas(v, d.quotas) }},
		{"concurrent", func(v fileNode) { t.Concurrent = r.count(v) }},
		{"open_tasks", func(v fileNode) { t.OpenTasks = r.count(v) }},
		{"shadow", func(v fileNode) { t.Shadow = r.flag(v) }},
		{"rules", func(v fileNode) { t.Modes = t.Modes.Override(r.modes(v)) }},
	}
}

var teamID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// team reads one team, starting from the defaults.
func (r *fileReader) team(n fileNode, defaults *draft) *Team {
	d := defaults.clone()
	own := []fileField{
		{"id", func(v fileNode) {
			d.team.ID = r.unique(v, "team id", teamID, "1 to 63 of a–z, 0–9 and -, the first no -")
		}},
		{"disabled", func(v fileNode) { d.team.Disabled = r.flag(v) }},
		{"keys", func(v fileNode) {
			r.items(v, "a list of keys", func(item fileNode) { d.team.Keys = append(d.team.Keys, r.key(item)) })
		}},
	}
	given := r.fields(n, append(own, r.shared(d)...))
	r.require(n, given, "id")
	return d.finish()
}

var keyID = regexp.MustCompile(`^[a-z0-9]{12}$`)

// key reads one key of a team.
func (r *fileReader) key(n fileNode) (k Key) {
	given := r.fields(n, []fileField{
		{"id", func(v fileNode) { k.ID = r.unique(v, "key id", keyID, "12 of a–z and 0–9, the key's public part") }},
		{"sha256", func(v fileNode) { k.SHA256 = r.sum(v) }},
		{"expires", func(v fileNode) { k.Expires = r.moment(v) }},
		{"disabled", func(v fileNode) { k.Disabled = r.flag(v) }},
	})
	r.require(n, given, "id", "sha256")
	return k
}

// sum reads the SHA-256 of a key. What is not one may be the key itself, so it is never shown.
func (r *fileReader) sum(n fileNode) (sum digest) {
	const allowed = "the SHA-256 of the whole key as 64 hexadecimal digits"
	text, ok := r.text(n, allowed)
	if !ok || plainKey.MatchString(text) {
		return sum // a plain key is noted where the whole file is searched for them
	}
	raw, err := hex.DecodeString(text)
	switch {
	case err != nil || len(raw) != sha256.Size:
		r.fault(n, "got no SHA-256 (not shown: it may be a plain key), allowed: "+allowed)
		return sum
	case digest(raw) == sha256.Sum256(nil):
		r.fault(n, "got the SHA-256 of nothing, allowed: "+allowed)
	}
	r.once(n, "sha256", hex.EncodeToString(raw))
	return digest(raw)
}

// unique reads a word that may stand only once in the file.
func (r *fileReader) unique(n fileNode, what string, pattern *regexp.Regexp, wanted string) string {
	word := r.word(n, pattern, wanted)
	if word != "" {
		r.once(n, what, word)
	}
	return word
}

// require notes the fields that have to be given and are not.
func (r *fileReader) require(n fileNode, given map[string]bool, names ...string) {
	if !n.hasFields() {
		return // noted already
	}
	for _, name := range names {
		if !given[name] {
			r.fault(n, name+" is missing")
		}
	}
}
