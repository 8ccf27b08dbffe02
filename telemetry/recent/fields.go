package recent

import (
	"strconv"
	"strings"
	"sync/atomic"
)

// fields are those of a line by which requests are chosen. They are read once, for all who look at the line.
type fields struct {
	id, team, model, refusal string
	status                   int
	whole                    atomic.Pointer[Request] // nil: nobody has seen it yet
}

// read reads the fields of lines, in place.
func read(lines []Line) []Line {
	for i := range lines {
		lines[i].read = lines[i].fields()
	}
	return lines
}

// fields finds the members where [telemetry.Record.AppendLine] writes them, which takes a twentieth of reading the whole line.
func (l Line) fields() *fields {
	f, plain := new(fields), true
	for name, to := range map[string]*string{`,"id":"`: &f.id, `,"team":"`: &f.team, `,"model":"`: &f.model, `,"refusal":"`: &f.refusal} {
		var ok bool
		*to, ok = l.member(name)
		plain = plain && ok
	}
	if !plain {
		if r, err := l.request(); err == nil {
			f.id, f.team, f.model, f.refusal = r.ID, r.Team, r.Model, r.Refusal
		}
	}
	_, rest, _ := strings.Cut(l.Text, `,"status":`)
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	f.status, _ = strconv.Atoi(rest[:max(end, 0)]) // else it is 0, which nobody looks for
	return f
}

// member is the text of a member; empty: there is none. Quotes within texts are escaped, so a name that is found is a member's. plain
// is false if the text has an escape, and is not what it says.
func (l Line) member(name string) (text string, plain bool) {
	_, rest, found := strings.Cut(l.Text, name)
	if !found {
		return "", true
	}
	text, _, found = strings.Cut(rest, `"`)
	return text, found && !strings.Contains(text, `\`)
}

// whole is the whole request.
func (l Line) whole() (*Request, error) {
	if r := l.read.whole.Load(); r != nil {
		return r, nil
	}
	r, err := l.request()
	if err != nil {
		return nil, err
	}
	l.read.whole.Store(&r)
	return &r, nil
}
