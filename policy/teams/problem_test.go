package teams_test

import (
	"errors"
	"testing"

	"sluice/policy/teams"
)

// TestAProblemSaysWhatWasGivenAndWhatIsAllowed: it is carried from where it is found, in a field of a form, in a limit, or in a key.
func TestAProblemSaysWhatWasGivenAndWhatIsAllowed(t *testing.T) {
	d := changed(t, teams.Document{}, teams.CreateTeam{Team: spec("search", "key_days", "30")})
	past := today.AddDate(0, 0, -1)
	for _, tt := range []struct {
		change                teams.Change
		field, given, allowed string
	}{
		{teams.CreateTeam{Team: spec("ads", "rates", `{"tokens":{"per":"2h","limit":5}}`)}, "rates.tokens.per", `"2h"`,
			`whole seconds from "1s" to "1h"`},
		{teams.CreateTeam{Team: spec("ads", "disabled", `"yes"`)}, "disabled", `"yes"`, "true or false, without quotes"},
		{teams.CreateTeam{Team: spec("ads", "models", `[]`)}, "models", "an empty list", "a list of model patterns, or no such line for all"},
		{teams.CreateTeam{Team: spec("ads", "rates", `5`)}, "rates", "a single value", "the fields requests, tokens or images"},
		{teams.AddKey{Team: "search", Minted: minted(t, 1), Order: teams.KeyOrder{Note: "a\nb"}, Now: today}, "note", `"a\nb"`,
			"one line of at most 200 characters, without control characters"},
		{teams.AddKey{Team: "search", Minted: minted(t, 1), Order: teams.KeyOrder{Expires: &past}, Now: today}, "expires",
			"a moment in the past", "one after 2026-11-22T12:00:00Z"},
		{teams.Import{Document: teams.Document{Version: 9}}, "version", "9", "1, which is the directory's"},
	} {
		_, _, err := teams.Apply(d, tt.change)
		var p *teams.Problem
		if !errors.As(err, &p) || p.Field != tt.field || p.Given != tt.given || p.Allowed != tt.allowed ||
			p.Text != "got "+tt.given+", allowed: "+tt.allowed {
			t.Errorf("%+v", p)
		}
	}
}

// TestATeamThatEndsIsDisabledAndMarked, unless another client has changed it meanwhile; replacing it without both keeps it.
func TestATeamThatEndsIsDisabledAndMarked(t *testing.T) {
	d := changed(t, teams.Document{}, teams.CreateTeam{Team: spec("search", "concurrent", "3")})
	was, _ := d.Team("search")
	ended := changed(t, d, teams.EndTeam{ID: "search", IfMatch: `"x", ` + was.ETag(), Now: today})
	is, _ := ended.Team("search")
	if !is.Flag("disabled") || !is.Flag("removing") || string(is.Members["concurrent"]) != "3" || is.ETag() == was.ETag() ||
		is.Owner != teams.OwnerDirectory {
		t.Errorf("%+v", is)
	}
	for _, ifMatch := range []string{was.ETag(), "", "W/" + is.ETag()} {
		_, _, err := teams.Apply(ended, teams.EndTeam{ID: "search", IfMatch: ifMatch, Now: today})
		if p := (*teams.Problem)(nil); !errors.As(err, &p) || p.Code != teams.CodeLost {
			t.Errorf("If-Match %s: %v", ifMatch, err)
		}
	}
	kept, _ := changed(t, ended, teams.ReplaceTeam{Team: was, IfMatch: is.ETag(), Now: today}).Team("search")
	if kept.ETag() != was.ETag() {
		t.Errorf("%+v", kept)
	}
}

// TestTheFileCounts: if both owners have a team, the file's is shown.
func TestTheFileCounts(t *testing.T) {
	both := teams.Both{File: mustParse(t, "teams: [{id: ads, description: 5, models: [llm, 7]}]"), Directory: changed(t, teams.Document{},
		teams.CreateTeam{Team: spec("ads")}, teams.CreateTeam{Team: spec("maps")})}
	ads, _ := both.Team("ads")
	maps, ok := both.Team("maps")
	if ads.Owner != teams.OwnerFile || ads.Word("description") != "5" || len(ads.Words("models")) != 2 || !ok ||
		maps.Owner != teams.OwnerDirectory {
		t.Errorf("%+v, %+v", ads, maps)
	}
	if ids := both.IDs(); len(ids) != 2 || ids[0] != "ads" || ids[1] != "maps" {
		t.Errorf("%v", ids)
	}
	if _, ok := both.Team("none"); ok {
		t.Error("a team that nobody has is found")
	}
}
