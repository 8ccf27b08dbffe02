package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/gateway/console/access"
	"sluice/gateway/console/teamform"
	"sluice/policy/teams"
)

type formView struct {
	ID, IDError string
	Key         string // the key whose own limits it has; empty: it has a team
	New, Lost   bool   // Lost: another person saved meanwhile
	Away        bool   // nothing can be saved at the moment
	Version     string
	Groups      teamform.Form
	Kept        []string // members that the form does not know
	Error       string
	ErrorAt     *teamform.Field // the field that the error is about; nil: none
	Reason      string
	Action      string
}

func formPage(v formView, status int) (view, error) {
	at := "/teams/" + url.PathEscape(v.ID)
	back, name := &crumb{v.ID, at}, "Edit "+v.ID
	switch v.Action = at + "/edit"; {
	case v.New:
		back, name, v.Action = &crumb{"Teams", "/teams"}, "New team", "/teams"
	case v.Key != "":
		back = &crumb{v.Key, keyURL(v.ID, v.Key)}
		name, v.Action = "Limits of key "+v.Key, back.URL+"/edit"
	}
	return view{page: "team_form", title: name, status: status, data: v, back: back}, nil
}

// newTeam shows the empty form.
func (s teamPages) newTeam(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	_, _, err := s.Teams.Page(r.Context(), p, "", 0)
	return formPage(formView{New: true, Away: err != nil, Groups: s.emptyForm()}, 0)
}

// emptyForm returns the form of a team, with the defaults in force.
func (s teamPages) emptyForm() teamform.Form {
	groups := teamform.Team()
	groups.Defaults(s.File().Defaults())
	return groups
}

// createTeam adds a team to the directory.
func (s teamPages) createTeam(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	v := formView{New: true, Groups: s.emptyForm(), ID: strings.TrimSpace(r.PostFormValue("id"))}
	v.Reason = r.PostFormValue("reason")
	v.Groups.Typed(r.PostForm)
	_, err := s.Teams.Create(r.Context(), actor(r, p), teams.Spec{ID: v.ID, Members: v.Groups.Members(nil)})
	if err == nil {
		return view{to: "/teams/" + url.PathEscape(v.ID) + "?done=created"}, nil
	}
	return v.refused(err)
}

// editTeam shows the form with the values of the directory.
func (s teamPages) editTeam(r *http.Request, p access.Person) (view, error) {
	v, _, err := s.formOf(r, p)
	if err != nil {
		return view{}, err
	}
	return formPage(v, 0)
}

var errOfFile = &teams.Problem{
	Code: teams.CodeConflict, Field: "owner",
	Text: "the teams file owns this team. Change it there; Sluice reads the file again when it changes",
}

// formOf returns the form of a team that the person may edit.
func (s teamPages) formOf(r *http.Request, p access.Person) (formView, teams.Spec, error) {
	t, err := s.Teams.Show(r.Context(), p, r.PathValue("team"))
	switch {
	case err != nil:
		return formView{}, t, err
	case !p.Changes():
		return formView{}, t, errForbidden
	case t.Owner == teams.OwnerFile:
		return formView{}, t, errOfFile
	}
	v := formView{ID: t.ID, Version: t.ETag(), Groups: s.emptyForm()}
	v.Groups.Fill(t.Members)
	for name := range t.Members {
		known := false
		v.Groups.Each(func(f *teamform.Field) { known = known || f.Member() == name })
		if !known {
			v.Kept = append(v.Kept, name)
		}
	}
	slices.Sort(v.Kept)
	return v, t, nil
}

// changeTeam changes the team, or shows the form again with its fault.
func (s teamPages) changeTeam(r *http.Request, p access.Person) (view, error) {
	v, t, err := s.formOf(r, p)
	if err != nil {
		return view{}, err
	}
	v.Reason = r.PostFormValue("reason")
	v.Groups.Typed(r.PostForm)
	_, err = s.Teams.Replace(r.Context(), actor(r, p), teams.Spec{ID: t.ID, Members: v.Groups.Members(t.Members)}, r.PostFormValue("version"))
	if err == nil {
		return view{to: "/teams/" + url.PathEscape(t.ID) + "?done=changed"}, nil
	}
	return v.again(err, r.PostFormValue("version"), teamform.Team(), t.Members)
}

// again shows a form that was not saved. If another person saved first, it shows the value in force beside each field that differs, so
// that saving again overwrites it knowingly.
func (v formView) again(err error, version string, current teamform.Form, members map[string]json.RawMessage) (view, error) {
	if faultOf(err).Code != teams.CodeLost {
		v.Version = version
		return v.refused(err)
	}
	current.Fill(members)
	for g := range current {
		for i, is := range current[g].Fields {
			if f := &v.Groups[g].Fields[i]; f.Value != is.Value {
				f.Current, f.Other = is.Value, true
			}
		}
	}
	v.Lost = true
	return formPage(v, http.StatusPreconditionFailed)
}

// refused shows the error near its field.
func (v formView) refused(err error) (view, error) {
	about := faultOf(err)
	if about.Code != teams.CodeAway && own(err) == nil {
		return view{}, err
	}
	v.Error = about.Sentence()
	if v.New && about.Field == "id" {
		v.IDError = v.Error
		v.ErrorAt = &teamform.Field{Name: "id", Label: "Id"}
	}
	if f := mark(v.Groups, about); v.ErrorAt == nil {
		v.ErrorAt = f
	}
	return formPage(v, about.Status())
}

// mark sets a fault at the first field that it is about, and returns the field; nil: none.
func mark(groups teamform.Form, about *fault) (marked *teamform.Field) {
	groups.Each(func(f *teamform.Field) {
		if marked == nil && (f.Name == about.Field || within(about.Field, f.Name)) {
			f.Error, marked = about.Sentence(), f
		}
	})
	return marked
}

// within reports whether a path is below another, such as models[2] below models, or above it, such as quotas above quotas.images.
func within(path, other string) bool {
	return strings.HasPrefix(path, other+".") || strings.HasPrefix(path, other+"[") || path != "" && strings.HasPrefix(other, path+".")
}
