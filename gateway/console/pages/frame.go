package pages

import (
	"net/http"
	"strings"
	"time"

	"sluice/gateway/console/access"
)

// frame is the data of a template.
type frame struct {
	Title    string
	LiveURL  string // of the live part; empty: it is not sent again
	Nav      []entry
	Person   access.Person
	Role     string
	Currency string
	Done     string // what was done just now, in words; empty: nothing
	Zero     time.Time
	Back     *crumb
	Data     any
}

// entry is a link of the navigation.
type entry struct {
	Name, Path string
	Here       bool
}

// navigation lists the pages in their order; restricted ones are not for members.
var navigation = []struct {
	name, path string
	restricted bool
}{
	{"Now", "/now", false},
	{"Teams", "/teams", false},
	{"Tasks", "/tasks", false},
	{"Requests", "/requests", false},
	{"Money", "/money", false},
	{"Rules", "/rules", false},
	{"Audit", "/audit", true},
	{"Config", "/config", true},
}

func newFrame(v view, r *http.Request, p access.Person, currency string) frame {
	f := frame{
		Title: v.title, Person: p, Role: roleName(p.Role), Currency: currency,
		Done: done[r.URL.Query().Get("done")], Back: v.back, Data: v.data,
	}
	if v.live {
		f.LiveURL = r.URL.RequestURI()
	}
	here := r.URL.Path // or the page above
	if v.back != nil {
		here = v.back.URL
	}
	f.Nav = entries(p, here)
	return f
}

// entries are the pages that a person may open; here is the path of the one that is open.
func entries(p access.Person, here string) (list []entry) {
	for _, n := range navigation {
		if p.Role != 0 && (!n.restricted || p.SeesAll()) {
			list = append(list, entry{n.name, n.path, here == n.path || strings.HasPrefix(here, n.path+"/")})
		}
	}
	return list
}

func roleName(r access.Role) string {
	return map[access.Role]string{access.Operator: "operator", access.Viewer: "viewer", access.Member: "member"}[r]
}

// done are words for a change that was made, by the value of the query's done.
var done = map[string]string{
	"created":  "The team was created. It has no key yet: make one below.",
	"changed":  "The change was made. It is in force on every replica within 2 seconds.",
	"disabled": "The team was disabled. None of its keys works any more.",
	"enabled":  "The team was enabled. Its keys work again.",
	"removing": "The team is removed within seconds once none of its requests and tasks is open.",
	"adjusted": "The usage was corrected. The audit has your reason.",
	"unkeyed":  "The key was removed. It no longer works.",
	"canceled": "The service was asked to cancel the task. The task ends when the service says so.",
}
