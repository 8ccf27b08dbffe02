package pages

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// contentPolicy allows files of this listener, but nothing inline.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm bounds the body of a form, in bytes.
const maxForm = 256 << 10

// site is shared by all pages.
type site struct {
	Deps
	feeds *feeds
}

// view is a handler's answer.
type view struct {
	page    string // name of the template; empty: a redirect
	title   string
	status  int // 0: 200
	data    any
	live    bool     // the page's block "live" is sent again whenever it changes
	liveURL string   // of the page with the same block, if it is not this one
	sources []string // further sources of pictures
	undone  []string // values of the query's done that the page's state does not fit
	to      string   // the target of a redirect; empty: none
	back    *crumb   // the page above; nil: none
}

// crumb is a link to the page above.
type crumb struct{ Name, URL string }

// handler answers a request for one page. After an error its view is ignored.
type handler func(r *http.Request, p access.Person) (view, error)

// serve writes a handler's answer.
func (s *site) serve(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		p := access.From(r.Context())
		if wantsLive(r) && s.feeds.has(feedName(r, p)) {
			s.follow(w, r, p, h)
			return
		}
		v, err := answer(h, r, p)
		if r.Method == http.MethodPost && s.Deps.Settled != nil && err == nil {
			s.Deps.Settled(r.Context())
		}
		switch {
		case err != nil:
			v = problemPage(r, p, faultOf(err))
		case v.to != "":
			http.Redirect(w, r, v.to, http.StatusSeeOther)
			return
		case templates(s.Currency().Money)[v.page].Lookup("live") != nil && wantsLive(r):
			s.follow(w, r, p, h)
			return
		}
		s.write(w, r, p, &v)
	})
}

// wantsLive reports whether a request is for the live part of a page. Browsers repeat it every minute.
func wantsLive(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// follow sends the live part of a page that has one.
func (s *site) follow(w http.ResponseWriter, r *http.Request, p access.Person, h handler) {
	s.feeds.follow(w, r, p, func(r *http.Request) (part, error) {
		v, err := answer(h, r, p)
		if err != nil {
			return part{}, err
		}
		text, err := s.render(v, "live", r, p)
		return part{text: text, over: !v.live}, err
	})
}

func answer(h handler, r *http.Request, p access.Person) (view, error) {
	if p.Role == 0 {
		return view{}, errNobody
	}
	if r.Method == http.MethodPost {
		if err := r.ParseForm(); err != nil {
			return view{}, invalid("", "the form could not be read. Go back and send it again")
		}
	}
	return h(r, p)
}

func (s *site) write(w http.ResponseWriter, r *http.Request, p access.Person, v *view) {
	text, err := s.render(*v, "page", r, p)
	if err != nil {
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	if len(v.sources) > 0 || h.Get("Content-Security-Policy") == "" {
		h.Set("Content-Security-Policy", strings.Replace(contentPolicy, "img-src 'self'",
			strings.Join(append([]string{"img-src 'self'"}, v.sources...), " "), 1))
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // without it, browsers would send the Origin null with forms
	h.Set("X-Content-Type-Options", "nosniff")
	if v.status != 0 {
		w.WriteHeader(v.status)
	}
	_, _ = w.Write(text) //nolint:gosec // html/template has escaped the texts of others
}

// actor returns the person as the actor of a change.
func actor(r *http.Request, p access.Person) access.Actor {
	return p.By(r.RemoteAddr, strings.TrimSpace(r.PostFormValue("reason")))
}

// render executes a block of a page's template.
func (s *site) render(v view, block string, r *http.Request, p access.Person) ([]byte, error) {
	in := s.Currency()
	t := templates(in.Money)[v.page]
	if t == nil {
		return nil, errors.New("no template " + v.page)
	}
	var b bytes.Buffer
	err := t.ExecuteTemplate(&b, block, newFrame(v, r, p, in))
	return []byte(unmasked.Replace(b.String())), err
}

// sent is a form that may be sent again.
type sent struct {
	To     string
	Fields url.Values
}

// problemPage returns the page of an error. For a task's form it leads back to the task. It keeps a form that counts once: it may have been
// counted, and would count twice if it were filled in anew.
func problemPage(r *http.Request, p access.Person, e *fault) view {
	var back *crumb
	if id := r.PathValue("task"); id != "" && r.Method == http.MethodPost && p.Role != 0 {
		back = &crumb{"Task", taskURL(r.PathValue("team"), id)}
	}
	var again *sent
	if r.PostForm.Get("once") != "" && e.Code == teams.CodeAway {
		again = &sent{r.URL.EscapedPath(), r.PostForm}
	}
	v := view{page: "problem", back: back, title: titleOf(e.Status()), status: e.Status(), data: struct {
		*fault
		Login bool
		Sent  *sent // nil: none
	}{e, p.Role == 0, again}}
	for _, page := range entries(p, r.URL.Path) {
		if page.Here && v.status == http.StatusServiceUnavailable {
			v.title = page.Name + " is not available at the moment"
		}
	}
	return v
}

// frame is the data of a template.
type frame struct {
	Title    string
	LiveURL  string // of the live part; empty: no live part
	Nav      []entry
	Person   access.Person
	Role     string
	Currency string
	Done     string // the text about the completed change; empty: none
	Zero     time.Time
	Back     *crumb
	Data     any
}

func newFrame(v view, r *http.Request, p access.Person, in unit.Currency) frame {
	what := r.URL.Query().Get("done")
	f := frame{
		Title: v.title, Person: p, Role: roleName(p.Role), Currency: in.Word,
		Done: map[bool]string{true: done[what]}[!slices.Contains(v.undone, what)], Back: v.back, Data: v.data,
	}
	if f.LiveURL = v.liveURL; v.live {
		f.LiveURL = r.URL.RequestURI()
	}
	here := r.URL.Path
	if v.back != nil {
		here = v.back.URL
	}
	f.Nav = entries(p, here)
	return f
}

func roleName(r access.Role) string {
	return map[access.Role]string{access.Operator: "operator", access.Viewer: "viewer", access.Member: "member"}[r]
}

// done has the texts about a completed change, by the query's value done.
var done = map[string]string{
	"created":  "The team was created. It has no key yet: make one below.",
	"changed":  "The change was made. It is in force on every replica within 2 seconds.",
	"disabled": "The team was disabled. None of its keys works any more.",
	"enabled":  "The team was enabled. Its keys work again.",
	"removing": "The team is removed within seconds once none of its requests and tasks is open.",
	"adjusted": "The usage was corrected. The audit has your reason.",
	"again":    "This form was sent before, and counted once. To order the same again, fill it in anew.",
	"raised":   "The limit was raised. It is in force on every replica within 2 seconds, and ends by itself.",
	"lowered":  "The raise has ended. The limit is lower on every replica within 2 seconds.",
	"unkeyed":  "The key was removed. It no longer works.",
	"offkey":   "The key was disabled. It does not work until it is enabled.",
	"onkey":    "The key was enabled. It works again.",
	"limited":  "The key’s own limits were changed. They are in force on every replica within 2 seconds.",
	"canceled": "The service was asked to cancel the task. The task ends when the service says so.",
}

// asked returns a query's value without the spaces that a paste may leave around it.
func asked(q url.Values, name string) string { return strings.TrimSpace(q.Get(name)) }
