package console

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// ids lists what a person sees, two teams at a time.
func (w *world) ids(a access.Actor) string {
	w.Helper()
	var ids []string
	for after, more := "", true; more; {
		var list []teams.Spec
		var err error
		list, more, err = w.Page(w.Context(), a.Person, after, 2)
		w.must(err)
		for _, team := range list {
			ids = append(ids, team.ID+":"+string(team.Owner))
			after = team.ID
		}
	}
	return strings.Join(ids, " ")
}

func TestWhoSeesWhat(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		w.create("mail", "")
		for who, want := range map[*access.Actor]string{
			&operator: "ads:file mail:directory maps:directory search:file",
			&viewer:   "ads:file mail:directory maps:directory search:file",
			&member:   "maps:directory search:file",
			&stranger: "",
		} {
			if got := w.ids(*who); got != want {
				t := w.T
				t.Errorf("%s sees %q, want %q", who.Name, got, want)
			}
		}
		_, foreign := w.Show(w.Context(), member.Person, "ads")
		_, unknown := w.Show(w.Context(), member.Person, "none")
		_, gone := w.Show(w.Context(), member.Person, "gone")
		w.refused(foreign, teams.CodeMissing, "id")
		if diff := cmp.Diff([]string{foreign.Error(), foreign.Error()}, []string{unknown.Error(), gone.Error()}); diff != "" {
			w.Errorf("a foreign team is told from an unknown one:\n%s", diff)
		}
	})
}

// Rights: who may do what with a foreign team, one of the file, one of the directory, and one that lets its members make keys.
func TestWhoChangesWhat(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", "")
		w.create("mail", `"self_service":true`)
		free := member
		free.Teams = []string{"mail", "maps", "search"}
		acts := map[string]func(a access.Actor, team string) error{
			"replace": func(a access.Actor, team string) error {
				_, err := w.Replace(ctx, a, draft(team, ""), "*")
				return err
			},
			"delete": func(a access.Actor, team string) error { _, err := w.Delete(ctx, a, team, "*"); return err },
			"mint": func(a access.Actor, team string) error {
				_, err := w.Mint(ctx, a, team, "*", teams.KeyOrder{})
				return err
			},
			"end": func(a access.Actor, team string) error { return w.EndKey(ctx, a, team, "bbbbbbbbbbbb") },
			"change": func(a access.Actor, team string) error {
				_, err := w.ChangeKey(ctx, a, team, "bbbbbbbbbbbb", []byte(`{"disabled":true}`), "*")
				return err
			},
			"adjust": func(a access.Actor, team string) error {
				_, err := w.Adjust(ctx, a, team, Correction{Unit: "tokens", Delta: "1"})
				return err
			},
			"cancel": func(a access.Actor, team string) error { return w.Cancel(ctx, a, team, "task-9") },
		}
		const missing, forbidden, conflict = teams.CodeMissing, teams.CodeForbidden, teams.CodeConflict
		for _, tt := range []struct {
			who  access.Actor
			team string
			want map[string]teams.Code
		}{
			{free, "ads", map[string]teams.Code{"replace": missing, "delete": missing, "mint": missing, "end": missing, "change": missing,
				"adjust": missing, "cancel": missing}},
			{stranger, "maps", map[string]teams.Code{"replace": missing, "delete": missing, "mint": missing, "end": missing, "change": missing,
				"adjust": missing, "cancel": missing}},
			{operator, "none", map[string]teams.Code{"replace": missing, "delete": missing, "mint": missing, "end": missing, "change": missing,
				"adjust": missing, "cancel": missing}},
			{viewer, "maps", map[string]teams.Code{"replace": forbidden, "delete": forbidden, "mint": forbidden, "end": forbidden,
				"change": forbidden, "adjust": forbidden, "cancel": forbidden}},
			{free, "maps", map[string]teams.Code{"replace": forbidden, "delete": forbidden, "mint": forbidden, "end": forbidden,
				"change": forbidden, "adjust": forbidden, "cancel": missing}},
			{free, "mail", map[string]teams.Code{"replace": forbidden, "delete": forbidden, "end": missing, "change": missing, "adjust": forbidden}},
			{free, "search", map[string]teams.Code{"replace": forbidden, "mint": conflict, "end": conflict, "change": conflict}},
			{operator, "ads", map[string]teams.Code{"replace": conflict, "delete": conflict, "mint": conflict, "end": conflict, "change": conflict,
				"adjust": teams.CodeInvalid}},
		} {
			for act, want := range tt.want {
				var e *teams.Problem
				if err := acts[act](tt.who, tt.team); !errors.As(err, &e) || e.Code != want {
					w.Errorf("%s: %s of %s: %v, want %s", tt.who.Name, act, tt.team, err, want)
				}
			}
		}
		for _, who := range []access.Actor{viewer, member, stranger} {
			_, err := w.Create(ctx, who, draft("new", ""))
			w.refused(err, forbidden, "")
		}
		if err := acts["mint"](free, "mail"); err != nil {
			w.Errorf("self-service: %v", err)
		}
	})
}

func TestATeamsLife(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		made := w.create("maps", `"description":"Karten <&> 地图","concurrent":3`)
		_, err := w.Create(ctx, operator, draft("maps", ""))
		w.refused(err, teams.CodeConflict, "id")
		_, err = w.Create(ctx, operator, draft("ads", ""))
		w.refused(err, teams.CodeConflict, "owner")
		_, err = w.Create(ctx, operator, draft("Maps/../x", ""))
		w.refused(err, teams.CodeInvalid, "id")
		_, err = w.Create(ctx, operator, draft("new", `"rates":{"tokens":{"per":"2h","limit":1}}`))
		w.refused(err, teams.CodeInvalid, "rates.tokens.per")
		_, err = w.Create(ctx, operator, draft("new", `"colour":"red"`))
		w.refused(err, teams.CodeInvalid, "colour")
		_, err = w.Replace(ctx, operator, draft("maps", `"concurrent":4`), made.ETag())
		w.must(err)
		_, err = w.Replace(ctx, operator, draft("maps", `"concurrent":5`), made.ETag())
		w.refused(err, teams.CodeLost, "If-Match")
		_, err = w.Delete(ctx, operator, "maps", made.ETag())
		w.refused(err, teams.CodeLost, "If-Match")
		if team, err := w.Show(ctx, viewer.Person, "maps"); err != nil || string(team.Members["concurrent"]) != "4" ||
			team.ETag() == made.ETag() {
			w.Errorf("%+v, %v", team, err)
		}

		for range 2 { // a second time makes no difference
			team, err := w.Delete(ctx, operator, "maps", "*")
			if err != nil || !team.Flag("disabled") || !team.Flag("removing") {
				w.Errorf("%+v, %v", team, err)
			}
		}
		_, err = w.Replace(ctx, operator, draft("maps", `"removing":true`), "*")
		w.refused(err, teams.CodeInvalid, "")
		if team, err := w.Replace(ctx, operator, draft("maps", `"concurrent":4`), "*"); err != nil || team.Flag("disabled") ||
			team.Flag("removing") {
			w.Errorf("a team that is enabled again is %+v, %v", team, err)
		}
		var whats []string
		for _, e := range w.entries() {
			whats = append(whats, e.What+" "+e.Team+" "+e.Who+" "+e.Address)
		}
		if diff := cmp.Diff([]string{"team.change maps token 192.0.2.1", "team.change maps token 192.0.2.1", "team.change maps token 192.0.2.1",
			"team.create maps token 192.0.2.1"}, whats); diff != "" {
			w.Error(diff)
		}
	})
}

func TestTheDirectoryIsReadAgainWhenItHasChanged(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		_, err := teams.Commit(w.Context(), w.store, teams.Order{Who: "command", Now: noon}, func(teams.Document) (teams.Change, error) {
			return teams.CreateTeam{Team: teams.Spec{ID: "mail", Members: map[string]json.RawMessage{}}}, nil
		})
		w.must(err)
		if _, err := w.Show(w.Context(), operator.Person, "mail"); err != nil {
			w.Error(err)
		}
	})
}

func TestKeys(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", `"self_service":true`)
		first, err := w.Mint(ctx, member, "maps", "*", teams.KeyOrder{Note: "the indexer"})
		w.must(err)
		if want := noon.AddDate(0, 0, 30); first.Expires == nil || !first.Expires.Equal(want) ||
			!strings.HasPrefix(first.Key, "slk_"+first.ID+"_") {
			w.Errorf("made a key that ends %v, want %v by the defaults' key_days", first.Expires, want)
		}
		late := noon.AddDate(0, 0, 31)
		_, err = w.Mint(ctx, member, "maps", "*", teams.KeyOrder{Expires: &late})
		w.refused(err, teams.CodeInvalid, "expires")
		_, err = w.Mint(ctx, member, "maps", "*", teams.KeyOrder{Replaces: "bbbbbbbbbbbb"})
		w.refused(err, teams.CodeMissing, "key")
		second, err := w.Mint(ctx, member, "maps", "*", teams.KeyOrder{Replaces: first.ID})
		w.must(err)
		w.must(w.store.NoteUsed(ctx, map[string]time.Time{first.ID: noon}))
		shown, err := w.Show(ctx, member.Person, "maps")
		w.must(err)
		want := []teams.Key{
			{ID: first.ID, SHA256: sha256.Sum256([]byte(first.Key)), Expires: noon.Add(24 * time.Hour), Note: "the indexer"},
			{ID: second.ID, SHA256: sha256.Sum256([]byte(second.Key)), Expires: noon.AddDate(0, 0, 30), Note: "the indexer"},
		}
		if diff := cmp.Diff(want, shown.Keys); diff != "" || shown.Owner != teams.OwnerDirectory || !shown.Used[first.ID].Equal(noon) {
			w.Errorf("%s\n%+v", diff, shown)
		}

		team, err := w.Show(ctx, operator.Person, "maps")
		w.must(err)
		same := draft("maps", `"concurrent":9`)
		same.Keys = team.Keys
		team, err = w.Replace(ctx, operator, same, team.ETag())
		w.must(err)
		same.Keys = team.Keys[:1]
		_, err = w.Replace(ctx, operator, same, team.ETag())
		w.refused(err, teams.CodeInvalid, "keys")

		_, err = w.Replace(ctx, operator, draft("maps", `"self_service":true`), team.ETag())
		w.must(err)
		w.must(w.EndKey(ctx, member, "maps", first.ID))
		w.refused(w.EndKey(ctx, member, "maps", first.ID), teams.CodeMissing, "key")
		w.refused(w.EndKey(ctx, member, "maps", canary), teams.CodeMissing, "key")
	})
}
