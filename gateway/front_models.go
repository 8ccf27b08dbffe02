package gateway

import (
	"net/http"
	"slices"

	"sluice/gateway/openai"
)

// listModels lists the models that the teams file names and the team may ask for.
func (f *fronts) listModels(w *reply, _ *http.Request, s *requestState) error {
	w.front.Pass()
	return answer{status: http.StatusOK, header: jsonHeader(), body: openai.AppendModels(nil, s.teams.Names(s.team), f.created, f.config.Provider)}.write(w)
}

// showModel answers about one of these models.
func (f *fronts) showModel(w *reply, _ *http.Request, s *requestState) error {
	if !slices.Contains(s.teams.Names(s.team), s.rest) {
		unknown := openai.NoModel(s.rest)
		w.front.BlameMember(unknown.Param)
		return refuse(refuseNoModel).say("%s", unknown.Message)
	}
	w.front.Pass()
	return answer{status: http.StatusOK, header: jsonHeader(), body: openai.AppendModel(nil, s.rest, f.created, f.config.Provider)}.write(w)
}
