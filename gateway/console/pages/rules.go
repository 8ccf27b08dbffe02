package pages

import (
	"net/http"

	"sluice/gateway/console/access"
)

type rulesView struct {
	Rules           []Rule
	Find            string
	All             int
	Warned, Refused int64
	Counted         bool
}

// rules shows the table of rules.
func (s *site) rules(r *http.Request, p access.Person) (view, error) {
	all, err := s.House.Rules(r.Context(), p)
	if err != nil {
		return view{}, err
	}
	v := rulesView{Find: r.URL.Query().Get("find"), All: len(all)}
	for i := range all {
		if x := &all[i]; contains(v.Find, x.ID, x.Field, x.From, x.Mode) {
			v.Rules = append(v.Rules, *x)
			v.Warned, v.Refused, v.Counted = v.Warned+x.Warned, v.Refused+x.Refused, v.Counted || x.Counted
		}
	}
	return view{page: "rules", title: "Rules", data: v}, nil
}
